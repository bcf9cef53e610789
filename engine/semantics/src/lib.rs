//! What SQL means where DataFusion says otherwise: functions, casts, optimizer rules, and operators that stop at once.
//!
//! - [`functions`] — functions under the names of DataFusion's, and those that stand in the place of operators and casts
//! - [`optimizer`] — rules among DataFusion's own
//! - [`cancel`] — operators and expressions that stop with their query

pub mod cancel;
pub mod functions;
pub mod optimizer;
