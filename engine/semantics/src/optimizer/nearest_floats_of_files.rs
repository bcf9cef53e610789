//! The casts of file readers, for a column that is declared as DOUBLE and is a decimal in the file.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::CastExpr;
use datafusion::physical_expr_adapter::{DefaultPhysicalExprAdapterFactory, PhysicalExprAdapter, PhysicalExprAdapterFactory};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::functions::nearest_floats::convert::with_floats;
use crate::functions::nearest_floats::function::nearest_floats_in_plan;
use crate::optimizer::exact_filter;

/// Gives each file reader the casts of [`Files`].
#[derive(Debug)]
pub struct NearestFloatsOfFiles;

impl PhysicalOptimizerRule for NearestFloatsOfFiles {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let config = node.downcast_ref::<DataSourceExec>().and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>());
            let Some(config) = config.filter(|config| config.expr_adapter_factory.is_none()) else { return Ok(Transformed::no(node)) };
            let mut config = config.clone();
            config.expr_adapter_factory = Some(Arc::new(Files));
            Ok(Transformed::yes(DataSourceExec::from_data_source(config) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &str {
        "nearest_floats_of_files"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// DataFusion's own adapter, with casts to the nearest floats.
#[derive(Debug)]
struct Files;

impl PhysicalExprAdapterFactory for Files {
    fn create(&self, logical: SchemaRef, physical: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        let inner = DefaultPhysicalExprAdapterFactory.create(logical, Arc::clone(&physical))?;
        Ok(Arc::new(OneFile { inner, physical }))
    }
}

#[derive(Debug)]
struct OneFile {
    inner: Arc<dyn PhysicalExprAdapter>,
    physical: SchemaRef,
}

impl PhysicalExprAdapter for OneFile {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = self.inner.rewrite(expr)?.transform_up(|node| self.nearest(node)).data()?;
        // The file may have a coarser type than the table: DataFusion would compare with a value that fits the file's type.
        exact_filter(expr, &self.physical)
    }
}

impl OneFile {
    fn nearest(&self, node: Arc<dyn PhysicalExpr>) -> Result<Transformed<Arc<dyn PhysicalExpr>>> {
        let Some(cast) = node.downcast_ref::<CastExpr>() else { return Ok(Transformed::no(node)) };
        let wanted = cast.expr().data_type(&self.physical).ok().and_then(|from| with_floats(&from, cast.cast_type()));
        let Some(wanted) = wanted else { return Ok(Transformed::no(node)) };
        let floats = nearest_floats_in_plan(Arc::clone(cast.expr()), wanted, &self.physical)?;
        // For the rest of the cast and its name.
        let options = Some(cast.cast_options().clone());
        Ok(Transformed::yes(Arc::new(CastExpr::new_with_target_field(floats, Arc::clone(cast.target_field()), options))))
    }
}
