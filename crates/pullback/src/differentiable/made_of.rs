//! Types that are their parts and nothing else.

/// What several parts hold and refer to, two by two.
macro_rules! within {
    ($Depths:ident) => {
        $crate::differentiable::reach::Nothing
    };
    ($Depths:ident, $first:ty $(, $part:ty)*) => {
        (
            <$first as $crate::Differentiable>::Within<$Depths>,
            $crate::differentiable::made_of::within!($Depths $(, $part)*),
        )
    };
}
pub(crate) use within;

/// Types that are their parts and nothing else. A row has for each part its name (none where it is the only one), its
/// type, where it lies, and how it is reached; and how a value is made of its parts.
///
/// Whoever writes a row promises that the parts lie there.
macro_rules! made_of {
    ($(
        [$($parameter:tt)*] $T:ty, $name:literal
        { $($part:literal: $P:ty, at $offset:expr, $place:expr;)+ }
        by |$($zero:ident),+| $made:expr
        $(, where [$($bound:tt)+])?;
    )*) => {$(
        // SAFETY: S36, the parts lie where the row says; each of them is checked and visited.
        unsafe impl<$($parameter)*> $crate::Differentiable for $T
        where
            $($P: $crate::Differentiable,)+
            $($($bound)+)?
        {
            type Within<Depths: $crate::differentiable::reach::Depth> =
                $crate::differentiable::made_of::within!(Depths $(, $P)+);

            const LAYOUT: $crate::abi::Layout = $crate::abi::Layout::new::<Self>(
                $name,
                const { &[$($crate::abi::Field::nested($offset, 1, $crate::differentiable::layout_fn::<$P>())),+] },
            );
            const CHECKED: bool = false $(|| <$P as $crate::Differentiable>::CHECKED)+;
            const PLAIN: bool = true $(&& <$P as $crate::Differentiable>::PLAIN)+;
            const VARIANTS: bool = false $(|| <$P as $crate::Differentiable>::VARIANTS)+;
            const CELLS: bool = false $(|| <$P as $crate::Differentiable>::CELLS)+;
            const CONSTANTS: bool = false $(|| <$P as $crate::Differentiable>::CONSTANTS)+;
            const INERT: bool = true $(&& <$P as $crate::Differentiable>::INERT)+;

            fn check_shadow(
                &self,
                shadow: &Self,
                path: &$crate::differentiable::Path<'_>,
            ) -> Result<(), $crate::differentiable::Mismatch> {
                $({
                    let place: fn(&Self) -> &$P = $place;
                    let part = path.field($part);
                    let path = if $part.is_empty() { path } else { &part };
                    place(self).check_shadow(place(shadow), path)?;
                })+
                Ok(())
            }

            #[inline]
            unsafe fn floats<V: $crate::differentiable::VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
                $(
                    let place: fn(&Self) -> &$P = $place;
                    let part = place(self);
                    // SAFETY: S36, asked of the caller.
                    unsafe { part.floats($crate::differentiable::corresponding(self, part, shadow), visit) }
                )+
            }

            #[inline]
            unsafe fn constants<V: $crate::differentiable::VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
                $(
                    let place: fn(&Self) -> &$P = $place;
                    let part = place(self);
                    // SAFETY: S36, asked of the caller.
                    unsafe { part.constants($crate::differentiable::corresponding(self, part, shadow), visit) }
                )+
            }
        }

        // SAFETY: S37, such parts.
        unsafe impl<$($parameter)*> $crate::MakeZero for $T
        where
            $($P: $crate::MakeZero,)+
            $($($bound)+)?
        {
            fn zero_like(&self, sharing: &mut $crate::differentiable::Sharing) -> Self {
                $(let $zero = {
                    let place: fn(&Self) -> &$P = $place;
                    place(self).zero_like(sharing)
                };)+
                $made
            }
        }

        // SAFETY: S38, as the parts.
        unsafe impl<$($parameter)*> $crate::Writable for $T
        where
            $($P: $crate::Writable,)+
            $($($bound)+)?
        {
        }
    )*};
}
pub(crate) use made_of;
