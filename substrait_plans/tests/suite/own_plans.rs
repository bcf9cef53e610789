//! Our own plans: they mean the same as their queries, and what cannot be expressed is refused.

mod refused;
mod same_rows;
mod shape;
mod sqllogictests;
mod support;
mod tensors;
mod tpch;
