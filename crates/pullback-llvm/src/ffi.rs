//! The LLVM-C functions this crate calls, as a table of function pointers that is filled at run time.
//!
//! LLVM is not linked: [`Api::load`] opens the libLLVM of one rustc and looks every function up by name, so that one
//! binary serves every toolchain. A function that the library does not export is an error that names it. The handles
//! are pointer newtypes of our own; the signatures are those of the headers under `llvm-c/`.

use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// LLVM's own options, for the linker's LLVM as well. Sums of floats stay in the order that the program gives them, and
/// need not keep the rest of their loop from being vector code: x86 has no instruction for such a sum, and LLVM then
/// does not think of adding lane by lane unless it is told.
pub const OPTIONS: [&CStr; 1] = [c"-force-ordered-reductions"];

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[repr(transparent)]
            #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
            pub(crate) struct $name(pub *mut c_void);

            #[allow(dead_code)]
            impl $name {
                /// The handle LLVM uses for "nothing".
                pub const NULL: $name = $name(std::ptr::null_mut());

                pub fn is_null(self) -> bool {
                    self.0.is_null()
                }

                /// `None` for the null handle.
                pub fn some(self) -> Option<$name> {
                    (!self.0.is_null()).then_some(self)
                }
            }
        )*
    };
}

handles! {
    /// `LLVMContextRef`.
    ContextRef;
    /// `LLVMModuleRef`.
    ModuleRef;
    /// `LLVMTypeRef`.
    TypeRef;
    /// `LLVMValueRef`.
    ValueRef;
    /// An `LLVMValueRef` that is known to be an instruction: see [`InstRef::value`].
    InstRef;
    /// `LLVMBasicBlockRef`.
    BlockRef;
    /// `LLVMBuilderRef`.
    BuilderRef;
    /// `LLVMMemoryBufferRef`.
    BufferRef;
    /// `LLVMAttributeRef`.
    AttrRef;
    /// `LLVMMetadataRef`.
    MetadataRef;
    /// `LLVMTargetRef`.
    TargetRef;
    /// `LLVMTargetMachineRef`.
    MachineRef;
    /// `LLVMTargetDataRef`.
    DataLayoutRef;
    /// `LLVMPassBuilderOptionsRef`.
    PassOptionsRef;
    /// `LLVMErrorRef`.
    ErrorRef;
    /// `LLVMDiagnosticInfoRef`.
    DiagnosticRef;
    /// `LLVMUseRef`.
    UseRef;
    /// `LLVMValueMetadataEntry *`.
    MetadataEntries;
    /// `LLVMComdatRef`.
    ComdatRef;
}

/// The C interface has one type for all values, and casts without a check where it wants an instruction. The table
/// below tells the two apart: what changes an instruction takes an [`InstRef`]; a builder that always makes an
/// instruction returns one; a builder that folds constants returns a [`ValueRef`], of which only
/// [`Api::as_instruction`] makes an instruction, if it is one.
impl InstRef {
    /// The instruction as a value.
    pub fn value(self) -> ValueRef {
        ValueRef(self.0)
    }
}

/// `LLVMBool`.
pub(crate) type Bool = c_int;
/// `LLVMDiagnosticHandler`.
pub(crate) type DiagnosticHandler = extern "C" fn(DiagnosticRef, *mut c_void);

macro_rules! table {
    ($($name:ident($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions of one libLLVM, and the library that holds them.
        #[allow(non_snake_case)]
        pub(crate) struct Api {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            library: libloading::Library,
        }

        impl Api {
            /// Open the library at `path` and look every function up.
            pub fn load(path: &Path) -> Result<Api> {
                // SAFETY: libLLVM's initialisers only register its own options and passes.
                let library = unsafe { libloading::Library::new(path) }
                    .map_err(|e| Error::Library { path: path.to_owned(), reason: e.to_string() })?;
                Ok(Api {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        // SAFETY: the field's type is the C signature of the function of this name.
                        let symbol = unsafe { library.get(name.as_bytes()) };
                        *symbol.map_err(|_| Error::MissingSymbol {
                            path: path.to_owned(),
                            symbol: stringify!($name),
                        })?
                    },)*
                    library,
                })
            }
        }
    };
}

table! {
    // Contexts, buffers, messages
    LLVMGetVersion(*mut c_uint, *mut c_uint, *mut c_uint);
    LLVMParseCommandLineOptions(c_int, *const *const c_char, *const c_char);
    LLVMContextCreate() -> ContextRef;
    LLVMContextDispose(ContextRef);
    LLVMContextSetDiagnosticHandler(ContextRef, Option<DiagnosticHandler>, *mut c_void);
    LLVMGetDiagInfoDescription(DiagnosticRef) -> *mut c_char;
    LLVMGetDiagInfoSeverity(DiagnosticRef) -> c_int;
    LLVMDisposeMessage(*mut c_char);
    LLVMGetErrorMessage(ErrorRef) -> *mut c_char;
    LLVMDisposeErrorMessage(*mut c_char);
    LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> BufferRef;
    LLVMGetBufferStart(BufferRef) -> *const c_char;
    LLVMGetBufferSize(BufferRef) -> usize;
    LLVMDisposeMemoryBuffer(BufferRef);
    // Modules
    LLVMParseIRInContext(ContextRef, BufferRef, *mut ModuleRef, *mut *mut c_char) -> Bool;
    LLVMWriteBitcodeToMemoryBuffer(ModuleRef) -> BufferRef;
    LLVMPrintModuleToString(ModuleRef) -> *mut c_char;
    LLVMGetNamedMetadataNumOperands(ModuleRef, *const c_char) -> c_uint;
    LLVMGetNamedMetadataOperands(ModuleRef, *const c_char, *mut ValueRef) -> ();
    LLVMCloneModule(ModuleRef) -> ModuleRef;
    LLVMDisposeModule(ModuleRef);
    LLVMLinkModules2(ModuleRef, ModuleRef) -> Bool;
    LLVMVerifyModule(ModuleRef, c_int, *mut *mut c_char) -> Bool;
    LLVMGetTarget(ModuleRef) -> *const c_char;
    LLVMGetModuleDataLayout(ModuleRef) -> DataLayoutRef;
    // Passes and code
    LLVMCreatePassBuilderOptions() -> PassOptionsRef;
    LLVMDisposePassBuilderOptions(PassOptionsRef);
    LLVMPassBuilderOptionsSetLoopInterleaving(PassOptionsRef, Bool);
    LLVMPassBuilderOptionsSetLoopVectorization(PassOptionsRef, Bool);
    LLVMPassBuilderOptionsSetSLPVectorization(PassOptionsRef, Bool);
    LLVMRunPasses(ModuleRef, *const c_char, MachineRef, PassOptionsRef) -> ErrorRef;
    LLVMRunPassesOnFunction(ValueRef, *const c_char, MachineRef, PassOptionsRef) -> ErrorRef;
    LLVMGetTargetFromTriple(*const c_char, *mut TargetRef, *mut *mut c_char) -> Bool;
    LLVMCreateTargetMachine(TargetRef, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> MachineRef;
    LLVMDisposeTargetMachine(MachineRef);
    LLVMTargetMachineEmitToMemoryBuffer(MachineRef, ModuleRef, c_int, *mut *mut c_char, *mut BufferRef) -> Bool;
    // Types
    LLVMGetTypeKind(TypeRef) -> c_int;
    LLVMPrintTypeToString(TypeRef) -> *mut c_char;
    LLVMGetIntTypeWidth(TypeRef) -> c_uint;
    LLVMCountStructElementTypes(TypeRef) -> c_uint;
    LLVMStructGetTypeAtIndex(TypeRef, c_uint) -> TypeRef;
    LLVMGetElementType(TypeRef) -> TypeRef;
    LLVMGetVectorSize(TypeRef) -> c_uint;
    LLVMVectorType(TypeRef, c_uint) -> TypeRef;
    LLVMGetArrayLength2(TypeRef) -> u64;
    LLVMTypeIsSized(TypeRef) -> Bool;
    LLVMGetReturnType(TypeRef) -> TypeRef;
    LLVMCountParamTypes(TypeRef) -> c_uint;
    LLVMGetParamTypes(TypeRef, *mut TypeRef);
    LLVMIsFunctionVarArg(TypeRef) -> Bool;
    LLVMIntTypeInContext(ContextRef, c_uint) -> TypeRef;
    LLVMFloatTypeInContext(ContextRef) -> TypeRef;
    LLVMDoubleTypeInContext(ContextRef) -> TypeRef;
    LLVMVoidTypeInContext(ContextRef) -> TypeRef;
    LLVMPointerTypeInContext(ContextRef, c_uint) -> TypeRef;
    LLVMStructTypeInContext(ContextRef, *mut TypeRef, c_uint, Bool) -> TypeRef;
    LLVMArrayType2(TypeRef, u64) -> TypeRef;
    LLVMFunctionType(TypeRef, *mut TypeRef, c_uint, Bool) -> TypeRef;
    LLVMGetPointerAddressSpace(TypeRef) -> c_uint;
    LLVMABISizeOfType(DataLayoutRef, TypeRef) -> c_ulonglong;
    LLVMABIAlignmentOfType(DataLayoutRef, TypeRef) -> c_uint;
    LLVMOffsetOfElement(DataLayoutRef, TypeRef, c_uint) -> c_ulonglong;
    // Values
    LLVMTypeOf(ValueRef) -> TypeRef;
    LLVMGetValueKind(ValueRef) -> c_int;
    LLVMGetValueName2(ValueRef, *mut usize) -> *const c_char;
    LLVMSetValueName2(ValueRef, *const c_char, usize);
    LLVMPrintValueToString(ValueRef) -> *mut c_char;
    LLVMReplaceAllUsesWith(ValueRef, ValueRef);
    LLVMIsConstant(ValueRef) -> Bool;
    LLVMIsAInstruction(ValueRef) -> InstRef;
    LLVMGetNumOperands(ValueRef) -> c_int;
    LLVMGetOperand(ValueRef, c_uint) -> ValueRef;
    LLVMSetOperand(ValueRef, c_uint, ValueRef);
    LLVMGetFirstUse(ValueRef) -> UseRef;
    LLVMGetNextUse(UseRef) -> UseRef;
    LLVMGetUser(UseRef) -> ValueRef;
    // Constants
    LLVMConstNull(TypeRef) -> ValueRef;
    LLVMGetUndef(TypeRef) -> ValueRef;
    LLVMGetPoison(TypeRef) -> ValueRef;
    LLVMConstInt(TypeRef, c_ulonglong, Bool) -> ValueRef;
    LLVMConstIntOfArbitraryPrecision(TypeRef, c_uint, *const u64) -> ValueRef;
    LLVMConstIntGetZExtValue(ValueRef) -> c_ulonglong;
    LLVMConstIntGetSExtValue(ValueRef) -> c_longlong;
    LLVMConstBitCast(ValueRef, TypeRef) -> ValueRef;
    LLVMGetAggregateElement(ValueRef, c_uint) -> ValueRef;
    LLVMGetRawDataValues(ValueRef, *mut usize) -> *const c_char;
    LLVMGetConstOpcode(ValueRef) -> c_int;
    LLVMAliasGetAliasee(ValueRef) -> ValueRef;
    // Globals
    LLVMGetFirstGlobal(ModuleRef) -> ValueRef;
    LLVMGetNextGlobal(ValueRef) -> ValueRef;
    LLVMGetFirstGlobalAlias(ModuleRef) -> ValueRef;
    LLVMGetNextGlobalAlias(ValueRef) -> ValueRef;
    LLVMGetNamedGlobal(ModuleRef, *const c_char) -> ValueRef;
    LLVMDeleteGlobal(ValueRef);
    LLVMGetInitializer(ValueRef) -> ValueRef;
    LLVMSetInitializer(ValueRef, ValueRef);
    LLVMIsGlobalConstant(ValueRef) -> Bool;
    LLVMGetUnnamedAddress(ValueRef) -> c_int;
    LLVMIsThreadLocal(ValueRef) -> Bool;
    LLVMGlobalGetValueType(ValueRef) -> TypeRef;
    LLVMIsDeclaration(ValueRef) -> Bool;
    LLVMGetLinkage(ValueRef) -> c_int;
    LLVMSetLinkage(ValueRef, c_int);
    LLVMGetVisibility(ValueRef) -> c_int;
    LLVMSetVisibility(ValueRef, c_int);
    LLVMGetAlignment(ValueRef) -> c_uint;
    LLVMSetAlignment(InstRef, c_uint);
    LLVMSetComdat(ValueRef, ComdatRef);
    LLVMGlobalClearMetadata(ValueRef);
    // Functions
    LLVMGetFirstFunction(ModuleRef) -> ValueRef;
    LLVMGetNextFunction(ValueRef) -> ValueRef;
    LLVMGetNamedFunction(ModuleRef, *const c_char) -> ValueRef;
    LLVMAddFunction(ModuleRef, *const c_char, TypeRef) -> ValueRef;
    LLVMDeleteFunction(ValueRef);
    LLVMGetParam(ValueRef, c_uint) -> ValueRef;
    LLVMGetFunctionCallConv(ValueRef) -> c_uint;
    LLVMHasPersonalityFn(ValueRef) -> Bool;
    LLVMGetPersonalityFn(ValueRef) -> ValueRef;
    LLVMSetPersonalityFn(ValueRef, ValueRef);
    LLVMLookupIntrinsicID(*const c_char, usize) -> c_uint;
    LLVMGetIntrinsicDeclaration(ModuleRef, c_uint, *mut TypeRef, usize) -> ValueRef;
    LLVMGetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
    LLVMGetEnumAttributeKind(AttrRef) -> c_uint;
    LLVMGetEnumAttributeValue(AttrRef) -> u64;
    LLVMIsStringAttribute(AttrRef) -> Bool;
    LLVMGetStringAttributeKind(AttrRef, *mut c_uint) -> *const c_char;
    LLVMGetStringAttributeValue(AttrRef, *mut c_uint) -> *const c_char;
    LLVMCreateEnumAttribute(ContextRef, c_uint, u64) -> AttrRef;
    LLVMCreateStringAttribute(ContextRef, *const c_char, c_uint, *const c_char, c_uint) -> AttrRef;
    LLVMAddAttributeAtIndex(ValueRef, c_uint, AttrRef);
    LLVMGetAttributeCountAtIndex(ValueRef, c_uint) -> c_uint;
    LLVMGetAttributesAtIndex(ValueRef, c_uint, *mut AttrRef);
    LLVMGetEnumAttributeAtIndex(ValueRef, c_uint, c_uint) -> AttrRef;
    LLVMGetStringAttributeAtIndex(ValueRef, c_uint, *const c_char, c_uint) -> AttrRef;
    LLVMRemoveEnumAttributeAtIndex(ValueRef, c_uint, c_uint);
    LLVMGetCallSiteEnumAttribute(ValueRef, c_uint, c_uint) -> AttrRef;
    LLVMGetCallSiteStringAttribute(ValueRef, c_uint, *const c_char, c_uint) -> AttrRef;
    LLVMRemoveCallSiteStringAttribute(InstRef, c_uint, *const c_char, c_uint);
    LLVMRemoveCallSiteEnumAttribute(InstRef, c_uint, c_uint);
    LLVMAddCallSiteAttribute(InstRef, c_uint, AttrRef);
    // Blocks
    LLVMGetFirstBasicBlock(ValueRef) -> BlockRef;
    LLVMGetNextBasicBlock(BlockRef) -> BlockRef;
    LLVMGetEntryBasicBlock(ValueRef) -> BlockRef;
    LLVMAppendBasicBlockInContext(ContextRef, ValueRef, *const c_char) -> BlockRef;
    LLVMDeleteBasicBlock(BlockRef);
    LLVMRemoveBasicBlockFromParent(BlockRef);
    LLVMAppendExistingBasicBlock(ValueRef, BlockRef);
    LLVMGetBasicBlockTerminator(BlockRef) -> InstRef;
    LLVMGetFirstInstruction(BlockRef) -> InstRef;
    LLVMGetNextInstruction(InstRef) -> InstRef;
    LLVMGetInstructionParent(InstRef) -> BlockRef;
    LLVMGetBasicBlockParent(BlockRef) -> ValueRef;
    // Instructions
    LLVMGetInstructionOpcode(ValueRef) -> c_int;
    LLVMInstructionEraseFromParent(InstRef);
    LLVMInstructionClone(InstRef) -> InstRef;
    LLVMGetICmpPredicate(ValueRef) -> c_int;
    LLVMGetFCmpPredicate(ValueRef) -> c_int;
    LLVMGetCalledValue(ValueRef) -> ValueRef;
    LLVMGetCalledFunctionType(ValueRef) -> TypeRef;
    LLVMGetNumArgOperands(ValueRef) -> c_uint;
    LLVMGetNumOperandBundles(ValueRef) -> c_uint;
    LLVMGetInstructionCallConv(ValueRef) -> c_uint;
    LLVMSetInstructionCallConv(InstRef, c_uint);
    LLVMSetTailCallKind(InstRef, c_int);
    LLVMGetNormalDest(ValueRef) -> BlockRef;
    LLVMGetUnwindDest(ValueRef) -> BlockRef;
    LLVMSetNormalDest(InstRef, BlockRef);
    LLVMSetUnwindDest(InstRef, BlockRef);
    LLVMGetNumClauses(ValueRef) -> c_uint;
    LLVMGetClause(ValueRef, c_uint) -> ValueRef;
    LLVMGetNumSuccessors(ValueRef) -> c_uint;
    LLVMGetSuccessor(ValueRef, c_uint) -> BlockRef;
    LLVMGetCondition(ValueRef) -> ValueRef;
    LLVMGetSwitchCaseValue(ValueRef, c_uint) -> ValueRef;
    LLVMCountIncoming(ValueRef) -> c_uint;
    LLVMGetIncomingValue(ValueRef, c_uint) -> ValueRef;
    LLVMGetIncomingBlock(ValueRef, c_uint) -> BlockRef;
    LLVMAddIncoming(InstRef, *mut ValueRef, *mut BlockRef, c_uint);
    LLVMGetNumIndices(ValueRef) -> c_uint;
    LLVMGetIndices(ValueRef) -> *const c_uint;
    LLVMGetGEPSourceElementType(ValueRef) -> TypeRef;
    LLVMGEPGetNoWrapFlags(ValueRef) -> c_uint;
    LLVMGetAllocatedType(ValueRef) -> TypeRef;
    LLVMGetVolatile(ValueRef) -> Bool;
    LLVMGetOrdering(ValueRef) -> c_int;
    LLVMGetNSW(ValueRef) -> Bool;
    LLVMGetNUW(ValueRef) -> Bool;
    LLVMGetExact(ValueRef) -> Bool;
    LLVMGetNNeg(ValueRef) -> Bool;
    LLVMGetIsDisjoint(ValueRef) -> Bool;
    LLVMCanValueUseFastMathFlags(ValueRef) -> Bool;
    LLVMGetFastMathFlags(ValueRef) -> c_uint;
    LLVMSetNSW(InstRef, Bool);
    LLVMSetNUW(InstRef, Bool);
    LLVMSetExact(InstRef, Bool);
    LLVMSetNNeg(InstRef, Bool);
    LLVMSetIsDisjoint(InstRef, Bool);
    LLVMSetFastMathFlags(InstRef, c_uint);
    LLVMGetInlineAsmAsmString(ValueRef, *mut usize) -> *const c_char;
    LLVMInstructionGetAllMetadataOtherThanDebugLoc(InstRef, *mut usize) -> MetadataEntries;
    LLVMValueMetadataEntriesGetKind(MetadataEntries, c_uint) -> c_uint;
    LLVMDisposeValueMetadataEntries(MetadataEntries);
    LLVMSetMetadata(InstRef, c_uint, ValueRef);
    // Debug locations
    LLVMInstructionGetDebugLoc(InstRef) -> MetadataRef;
    LLVMInstructionSetDebugLoc(InstRef, MetadataRef);
    LLVMDILocationGetLine(MetadataRef) -> c_uint;
    LLVMDILocationGetColumn(MetadataRef) -> c_uint;
    LLVMDILocationGetScope(MetadataRef) -> MetadataRef;
    LLVMDILocationGetInlinedAt(MetadataRef) -> MetadataRef;
    LLVMDIScopeGetFile(MetadataRef) -> MetadataRef;
    LLVMGetSubprogram(ValueRef) -> MetadataRef;
    LLVMDISubprogramGetLine(MetadataRef) -> c_uint;
    LLVMDIFileGetFilename(MetadataRef, *mut c_uint) -> *const c_char;
    LLVMDIFileGetDirectory(MetadataRef, *mut c_uint) -> *const c_char;
    LLVMGetMetadataKind(MetadataRef) -> c_uint;
    LLVMMetadataAsValue(ContextRef, MetadataRef) -> ValueRef;
    LLVMValueAsMetadata(ValueRef) -> MetadataRef;
    LLVMGetMDNodeNumOperands(ValueRef) -> c_uint;
    LLVMGetMDNodeOperands(ValueRef, *mut ValueRef);
    LLVMGetMDString(ValueRef, *mut c_uint) -> *const c_char;
    LLVMMDStringInContext2(ContextRef, *const c_char, usize) -> MetadataRef;
    LLVMMDNodeInContext2(ContextRef, *mut MetadataRef, usize) -> MetadataRef;
    LLVMGetMDKindIDInContext(ContextRef, *const c_char, c_uint) -> c_uint;
    // Building. These always make an instruction, and return it.
    LLVMCreateBuilderInContext(ContextRef) -> BuilderRef;
    LLVMDisposeBuilder(BuilderRef);
    LLVMPositionBuilderAtEnd(BuilderRef, BlockRef);
    LLVMPositionBuilderBefore(BuilderRef, InstRef);
    LLVMInsertIntoBuilder(BuilderRef, InstRef);
    LLVMGetInsertBlock(BuilderRef) -> BlockRef;
    LLVMBuildAlloca(BuilderRef, TypeRef, *const c_char) -> InstRef;
    LLVMBuildLoad2(BuilderRef, TypeRef, ValueRef, *const c_char) -> InstRef;
    LLVMBuildStore(BuilderRef, ValueRef, ValueRef) -> InstRef;
    LLVMBuildMemCpy(BuilderRef, ValueRef, c_uint, ValueRef, c_uint, ValueRef) -> InstRef;
    LLVMBuildMemMove(BuilderRef, ValueRef, c_uint, ValueRef, c_uint, ValueRef) -> InstRef;
    LLVMBuildMemSet(BuilderRef, ValueRef, ValueRef, ValueRef, c_uint) -> InstRef;
    LLVMBuildCall2(BuilderRef, TypeRef, ValueRef, *mut ValueRef, c_uint, *const c_char) -> InstRef;
    LLVMBuildInvoke2(
        BuilderRef, TypeRef, ValueRef, *mut ValueRef, c_uint, BlockRef, BlockRef, *const c_char
    ) -> InstRef;
    LLVMBuildLandingPad(BuilderRef, TypeRef, ValueRef, c_uint, *const c_char) -> InstRef;
    LLVMSetCleanup(InstRef, Bool);
    LLVMBuildResume(BuilderRef, ValueRef) -> InstRef;
    LLVMBuildPhi(BuilderRef, TypeRef, *const c_char) -> InstRef;
    LLVMBuildBr(BuilderRef, BlockRef) -> InstRef;
    LLVMBuildCondBr(BuilderRef, ValueRef, BlockRef, BlockRef) -> InstRef;
    LLVMBuildSwitch(BuilderRef, ValueRef, BlockRef, c_uint) -> InstRef;
    LLVMAddCase(InstRef, ValueRef, BlockRef);
    LLVMBuildRet(BuilderRef, ValueRef) -> InstRef;
    LLVMBuildRetVoid(BuilderRef) -> InstRef;
    LLVMBuildUnreachable(BuilderRef) -> InstRef;
    // These fold what is constant: the result is an instruction, a constant, or one of the operands.
    LLVMBuildBinOp(BuilderRef, c_int, ValueRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildFNeg(BuilderRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildICmp(BuilderRef, c_int, ValueRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildFCmp(BuilderRef, c_int, ValueRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildCast(BuilderRef, c_int, ValueRef, TypeRef, *const c_char) -> ValueRef;
    LLVMBuildExtractElement(BuilderRef, ValueRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildInsertElement(BuilderRef, ValueRef, ValueRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildSelect(BuilderRef, ValueRef, ValueRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildFreeze(BuilderRef, ValueRef, *const c_char) -> ValueRef;
    LLVMBuildGEPWithNoWrapFlags(
        BuilderRef, TypeRef, ValueRef, *mut ValueRef, c_uint, *const c_char, c_uint
    ) -> ValueRef;
    LLVMBuildExtractValue(BuilderRef, ValueRef, c_uint, *const c_char) -> ValueRef;
    LLVMBuildInsertValue(BuilderRef, ValueRef, ValueRef, c_uint, *const c_char) -> ValueRef;
}

/// Calls one function of the table.
macro_rules! llvm {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: the signature in the table is the header's. Handles are private to this crate and are only used while
        // the `Module` or `Context` they came from is borrowed; an erased value is never used again.
        #[allow(unused_unsafe, clippy::let_unit_value, clippy::let_and_return)]
        let result = unsafe { ($api.$name)($($arg),*) };
        result
    }};
}
pub(crate) use llvm;

impl Api {
    /// Make the code generators of the usual architectures known to the library; one it was built without is skipped.
    pub fn initialise_targets(&self) {
        for target in ["X86", "AArch64", "NVPTX"] {
            for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"] {
                let name = format!("LLVMInitialize{target}{part}\0");
                // SAFETY: every function of this family takes nothing and returns nothing.
                if let Ok(init) = unsafe { self.library.get::<unsafe extern "C" fn()>(name.as_bytes()) } {
                    // SAFETY: as above; it may be called any number of times.
                    unsafe { init() }
                }
            }
        }
    }

    /// Set LLVM's own options, once for each library: it does not let them be set again.
    pub fn set_options(&self) {
        static DONE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
        let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if done.insert(self.LLVMGetVersion as usize) {
            let args: Vec<*const c_char> = [c"pullback"].iter().chain(&OPTIONS).map(|arg| arg.as_ptr()).collect();
            llvm!(self, LLVMParseCommandLineOptions(args.len() as c_int, args.as_ptr(), std::ptr::null()));
        }
    }

    /// The instruction that a value is, if it is one.
    pub fn as_instruction(&self, value: ValueRef) -> Option<InstRef> {
        llvm!(self, LLVMIsAInstruction(value)).some()
    }

    /// Take over a message LLVM allocated.
    pub fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: LLVM's messages are C strings that the caller owns and gives back once.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        llvm!(self, LLVMDisposeMessage(message));
        text
    }

    /// The error behind a handle, which is consumed.
    pub fn take_error(&self, error: ErrorRef) -> Option<String> {
        error.some()?;
        let message = llvm!(self, LLVMGetErrorMessage(error));
        // SAFETY: an error message is a C string owned by the caller.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        llvm!(self, LLVMDisposeErrorMessage(message));
        Some(text)
    }

    /// The contents of a buffer, which is consumed.
    pub fn take_buffer(&self, buffer: BufferRef) -> Vec<u8> {
        let start = llvm!(self, LLVMGetBufferStart(buffer));
        let size = llvm!(self, LLVMGetBufferSize(buffer));
        // SAFETY: start and size describe the buffer's memory, which lives until it is disposed of below.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) }.to_vec();
        llvm!(self, LLVMDisposeMemoryBuffer(buffer));
        bytes
    }

    /// The text of `len` bytes at `ptr`, which LLVM owns.
    pub fn text(&self, ptr: *const c_char, len: usize) -> String {
        if ptr.is_null() {
            return String::new();
        }
        // SAFETY: LLVM returned this pointer together with this length, and the owner of the text is alive.
        let bytes = unsafe { std::slice::from_raw_parts(ptr.cast::<u8>(), len) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}
