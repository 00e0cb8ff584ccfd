//! The functions that a rule's attribute makes, run as a derivative runs them: on places, through the rule's record.

mod rules {
    mod attached;
    mod by_hand;
    mod forward;
    mod memory;
    mod reverse;
}
