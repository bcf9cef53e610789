//! Kernels on columns where they lie: what they answer beside plain loops and other programs, and what they refuse.

mod blocks;
mod buckets;
mod clusters;
mod eager_aggregates;
mod grouping_sets;
mod histograms;
mod matrices;
mod messages;
mod nearest;
mod quantiles;
mod rank_limits;
mod regression;
mod running_windows;
mod temporary_tables;
mod tensors;
mod tensors_on_the_way;
mod vectors;
