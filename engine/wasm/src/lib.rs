//! Functions of users in WebAssembly: a module in, a function of DataFusion out.
//!
//! A module gets the rows of a batch as one struct array in Arrow's C data interface, with pointers of 32 bits, in its own memory, and leaves its
//! result there in the same form; `quiver.h` is the interface as C sees it. Batches are copied in and out: mapping pages of a segment into
//! a module costs more than the copy (docs/performance.md).
//!
//! **Invariant:** a module can do nothing but compute. It imports nothing, so it has no files, no network and no clock; its memory and its time are
//! limited, its stack too, and what it leaves behind is validated before it becomes an array. No instance outlives its statement.

mod aggregate;
mod clock;
mod error;
mod from_guest;
mod guest_memory;
mod instance;
mod layout;
mod module;
mod scalar;
mod table;
mod to_guest;
mod types;

pub use aggregate::aggregate_function;
pub use error::WasmError;
pub use module::{CompiledModule, Modules, content_hash};
pub use scalar::scalar_function;
pub use table::table_function;
