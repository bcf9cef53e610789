//! The structs of Arrow's C data interface where pointers have 32 bits (<https://arrow.apache.org/docs/format/CDataInterface.html>), as a C compiler
//! for wasm32 lays them out.

/// ```c
/// struct ArrowSchema {
///     const char *format, *name, *metadata;
///     int64_t flags, n_children;
///     struct ArrowSchema **children, *dictionary;
///     void (*release)(struct ArrowSchema *);
///     void *private_data;
/// };
/// ```
pub const SCHEMA_BYTES: u32 = 48;
pub const SCHEMA_FORMAT: u32 = 0;
pub const SCHEMA_NAME: u32 = 4;
pub const SCHEMA_FLAGS: u32 = 16;
pub const SCHEMA_CHILD_COUNT: u32 = 24;
pub const SCHEMA_CHILDREN: u32 = 32;

/// ```c
/// struct ArrowArray {
///     int64_t length, null_count, offset, n_buffers, n_children;
///     const void **buffers;
///     struct ArrowArray **children, *dictionary;
///     void (*release)(struct ArrowArray *);
///     void *private_data;
/// };
/// ```
pub const ARRAY_BYTES: u32 = 64;
pub const ARRAY_LENGTH: u32 = 0;
pub const ARRAY_NULL_COUNT: u32 = 8;
pub const ARRAY_OFFSET: u32 = 16;
pub const ARRAY_BUFFER_COUNT: u32 = 24;
pub const ARRAY_CHILD_COUNT: u32 = 32;
pub const ARRAY_BUFFERS: u32 = 40;
pub const ARRAY_CHILDREN: u32 = 44;

/// Where a buffer begins, as Arrow recommends.
pub const ALIGNMENT: u32 = 64;
