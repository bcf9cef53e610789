//! Plans that are made here: that they say what the query says, and what is refused.

mod refused;
mod same_rows;
mod shape;
mod sqllogictests;
mod support;
mod tensors;
mod tpch;
