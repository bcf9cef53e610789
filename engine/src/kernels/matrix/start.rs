//! From the plans of the inputs to the stream of the result.

use std::sync::Arc;

use arrow::array::{Float64Array, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::Time;
use futures::stream::{BoxStream, StreamExt};

use super::blocks::{Blocks, Rule};
use super::element::Element;
use super::exec::{Destination, Kernel};
use super::fill::Sizes;
use super::layout::block_field;
use super::norm::norms;
use super::operation::Operation;
use super::outputs::Outputs;
use super::pairs::products;
use super::place::{PlacedRun, Placing};
use super::run::{Column, Run, Target};
use super::shapes::{check, result_shape};
use super::work::{Inputs, Plan, scaled, sums, transposed};
use crate::kernels::gather::gathered;
use crate::kernels::threads::{Stop, in_background};

pub type Batches = BoxStream<'static, Result<RecordBatch>>;

/// Reads the inputs; the result is then made batch by batch, each when it is asked for.
pub async fn batches(
    kernel: Arc<Kernel>,
    plans: Vec<Arc<dyn ExecutionPlan>>,
    schema: SchemaRef,
    columns: Vec<Column>,
    destination: Destination,
    context: Arc<TaskContext>,
    time: Time,
) -> Result<Batches> {
    let consumer = MemoryConsumer::new(kernel.operation.function());
    let memory = Arc::new(consumer.register(context.memory_pool()));
    let read = gathered(&plans, &context, &memory).await?;
    let target = Target {
        schema,
        columns,
        block_type: block_field(&kernel.inputs[0].element, kernel.block, None)?.data_type().clone(),
        batch_rows: context.session_config().batch_size(),
        threads: context.session_config().target_partitions(),
    };
    let placing = match destination {
        Destination::Reader => None,
        Destination::Place(place) => Some(Placing { place, report: context.session_config().get_extension().unwrap_or_default() }),
    };
    match kernel.inputs[0].element {
        DataType::Float64 => started::<f64>(kernel, read, target, placing, memory, time).await,
        DataType::Float32 => started::<f32>(kernel, read, target, placing, memory, time).await,
        _ => internal_err!("kernels are planned for DOUBLE and REAL"),
    }
}

async fn started<T: Element>(
    kernel: Arc<Kernel>,
    read: Vec<Vec<RecordBatch>>,
    target: Target,
    placing: Option<Placing>,
    memory: Arc<MemoryReservation>,
    time: Time,
) -> Result<Batches> {
    if kernel.operation == Operation::Norm {
        let timer = time.clone();
        let norm = in_background(move |stop| {
            let _timer = timer.timer();
            norm_batch::<T>(&kernel, &read, &target, &memory, stop)
        });
        return Ok(futures::stream::once(norm).boxed());
    }
    let timer = time.clone();
    let run = in_background(move |stop| {
        let _timer = timer.timer();
        run::<T>(&kernel, &read, target, memory, stop)
    });
    let run = run.await?;
    Ok(match placing {
        None => each_in_background(run, time, Run::next),
        Some(placing) => each_in_background(PlacedRun { run, placing }, time, PlacedRun::next),
    })
}

/// What `next` makes of `run` until it has no more, each when it is asked for.
fn each_in_background<R: Send + 'static>(run: R, time: Time, next: fn(&mut R, &Stop) -> Result<Option<RecordBatch>>) -> Batches {
    let made = futures::stream::try_unfold(run, move |mut run| {
        let timer = time.clone();
        in_background(move |stop| {
            let _timer = timer.timer();
            Ok(next(&mut run, stop)?.map(|batch| (batch, run)))
        })
    });
    made.boxed()
}

fn inputs_of<T: Element>(
    kernel: &Kernel,
    read: &[Vec<RecordBatch>],
    memory: &MemoryReservation,
    threads: usize,
    stop: &Stop,
) -> Result<Inputs<T>> {
    let function = kernel.operation.function();
    let rules = match kernel.operation {
        Operation::Product => [Rule::JoinedByJ, Rule::JoinedByI],
        _ => [Rule::Matrix; 2],
    };
    let mut blocks = Vec::new();
    for (number, layout) in kernel.inputs.iter().enumerate() {
        let found = Blocks::<T>::new(&read[number], kernel.places[number], layout, rules[number], function)?;
        memory.try_grow(found.list_bytes())?;
        blocks.push(found);
    }
    if kernel.operation != Operation::Product {
        let shapes = blocks.iter().zip(&kernel.inputs).map(|(blocks, layout)| blocks.shape(layout, function));
        check(&kernel.operation, function, &kernel.inputs, &shapes.collect::<Result<Vec<_>>>()?)?;
        // Of a sum, one input may say the shape of both.
        let of_both = result_shape(&kernel.operation, &kernel.inputs).filter(|_| kernel.operation == Operation::Add);
        for (blocks, layout) in blocks.iter().zip(&kernel.inputs) {
            if let Some(shape) = of_both.or(layout.shape) {
                blocks.check_padding(layout, shape, function, threads, stop)?;
            }
        }
    }
    let mut blocks = blocks.into_iter();
    match blocks.next() {
        Some(a) => Ok(Inputs { a, b: blocks.next() }),
        None => internal_err!("a kernel has an input"),
    }
}

fn run<T: Element>(
    kernel: &Kernel,
    read: &[Vec<RecordBatch>],
    target: Target,
    memory: Arc<MemoryReservation>,
    stop: &Stop,
) -> Result<Run<T>> {
    let inputs = Arc::new(inputs_of::<T>(kernel, read, &memory, target.threads, stop)?);
    let by = if let Operation::Scale(by) = kernel.operation { by } else { 1.0 };
    let shape = result_shape(&kernel.operation, &kernel.inputs);
    let sizes = Sizes { a: kernel.inputs[0].block, result: kernel.block, shape, by };
    let of = Arc::clone(&inputs);
    let plan: Plan = match kernel.operation {
        Operation::Add => sums(of),
        Operation::Scale(_) => scaled(of),
        Operation::Transpose => transposed(of, memory.new_empty())?,
        Operation::Vector => products(of, kernel.operation.function(), true, memory.new_empty()),
        _ => products(of, kernel.operation.function(), false, memory.new_empty()),
    };
    let outputs = Outputs::new(memory.new_empty(), memory);
    Ok(Run::new(inputs, sizes, plan, target, outputs))
}

fn norm_batch<T: Element>(
    kernel: &Kernel,
    read: &[Vec<RecordBatch>],
    target: &Target,
    memory: &MemoryReservation,
    stop: &Stop,
) -> Result<RecordBatch> {
    let inputs = inputs_of::<T>(kernel, read, memory, target.threads, stop)?;
    let found = norms(&inputs.a, kernel.inputs[0].block, target.threads, stop)?;
    let values = [found.frobenius, found.one, found.infinity, found.max];
    let arrays = values.map(|value| Arc::new(Float64Array::from(vec![value])) as _).to_vec();
    Ok(RecordBatch::try_new(Arc::clone(&target.schema), arrays)?)
}
