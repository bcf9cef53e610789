//! Turns the plans of the inputs into the stream of the result.

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
use super::in_place::{InPlaceRun, InPlaceTarget};
use super::layout::block_field;
use super::norm::norms;
use super::operation::Operation;
use super::outputs::Outputs;
use super::pairs::{products, products_due};
use super::run::{Column, OutputTarget, Run, batch_bytes};
use super::shapes::{agreed, result_shape};
use super::work::{Each, Inputs, PendingBlock, Plan, scaled, sums, transposed};
use crate::gather::collect_batches;
use crate::threads::{StopFlag, in_background};
use common::memory::limit_bytes;

pub type Batches = BoxStream<'static, Result<RecordBatch>>;

/// Reads the inputs; the result is then made batch by batch on demand.
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
    let read = collect_batches(&plans, &context, &memory).await?;
    let target = OutputTarget {
        schema,
        columns,
        block_type: block_field(&kernel.inputs[0].element, kernel.block, None)?.data_type().clone(),
        batch_rows: context.session_config().batch_size(),
        batch_bytes: batch_bytes(limit_bytes(context.memory_pool().as_ref())),
        threads: context.session_config().target_partitions(),
    };
    let placing = match destination {
        Destination::Reader => None,
        Destination::Place(place) => Some(InPlaceTarget { place, report: context.session_config().get_extension().unwrap_or_default() }),
    };
    match kernel.inputs[0].element {
        DataType::Float64 => start::<f64>(kernel, read, target, placing, memory, time).await,
        DataType::Float32 => start::<f32>(kernel, read, target, placing, memory, time).await,
        _ => internal_err!("kernels are planned for DOUBLE and REAL"),
    }
}

async fn start<T: Element>(
    kernel: Arc<Kernel>,
    read: Vec<Vec<RecordBatch>>,
    target: OutputTarget,
    placing: Option<InPlaceTarget>,
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
    let preparation = in_background(move |stop| {
        let _timer = timer.timer();
        let (inputs, shape) = inputs_of::<T>(&kernel, &read, &memory, target.threads, stop)?;
        let inputs = Arc::new(inputs);
        let due = placing.is_some().then(|| due(&kernel, &inputs, &memory)).transpose()?;
        Ok((run(&kernel, inputs, shape, target, memory)?, placing.zip(due)))
    });
    Ok(match preparation.await? {
        (run, None) => each_in_background(run, time, Run::next),
        (run, Some((placing, due))) => each_in_background(InPlaceRun { run, due, placing }, time, InPlaceRun::next),
    })
}

/// The results of `next` on `run` until it has no more, each made on demand.
fn each_in_background<R: Send + 'static>(run: R, time: Time, next: fn(&mut R, &StopFlag) -> Result<Option<RecordBatch>>) -> Batches {
    let batches = futures::stream::try_unfold(run, move |mut run| {
        let timer = time.clone();
        in_background(move |stop| {
            let _timer = timer.timer();
            Ok(next(&mut run, stop)?.map(|batch| (batch, run)))
        })
    });
    batches.boxed()
}

/// The inputs, checked to have nothing outside of the matrices, and the shape of the result. A product by SQL has no shape.
fn inputs_of<T: Element>(
    kernel: &Kernel,
    read: &[Vec<RecordBatch>],
    memory: &MemoryReservation,
    threads: usize,
    stop: &StopFlag,
) -> Result<(Inputs<T>, Option<[usize; 2]>)> {
    let function = kernel.operation.function();
    let rules = match kernel.operation {
        Operation::Product => [Rule::JoinedByJ, Rule::JoinedByI],
        _ => [Rule::Matrix; 2],
    };
    let mut blocks = Vec::new();
    for (number, layout) in kernel.inputs.iter().enumerate() {
        let input = Blocks::<T>::new(&read[number], kernel.places[number], layout, rules[number], function)?;
        memory.try_grow(input.list_bytes())?;
        blocks.push(input);
    }
    let mut shapes_agreed = Vec::new();
    if kernel.operation != Operation::Product {
        let shapes = blocks.iter().zip(&kernel.inputs).map(|(blocks, layout)| blocks.shape(layout, function));
        shapes_agreed = agreed(&kernel.operation, function, &kernel.inputs, shapes.collect::<Result<Vec<_>>>()?)?;
        for ((blocks, layout), shape) in blocks.iter().zip(&kernel.inputs).zip(&shapes_agreed) {
            blocks.check_padding(layout, *shape, function, threads, stop)?;
        }
    }
    let shape = result_shape(&kernel.operation, |input| shapes_agreed.get(input).copied());
    let mut blocks = blocks.into_iter();
    match blocks.next() {
        Some(a) => Ok((Inputs { a, b: blocks.next() }, shape)),
        None => internal_err!("a kernel has an input"),
    }
}

fn run<T: Element>(
    kernel: &Kernel,
    inputs: Arc<Inputs<T>>,
    shape: Option<[usize; 2]>,
    target: OutputTarget,
    memory: Arc<MemoryReservation>,
) -> Result<Run<T>> {
    let by = if let Operation::Scale(by) = kernel.operation { by } else { 1.0 };
    let sizes = Sizes { a: kernel.inputs[0].block, result: kernel.block, shape, by };
    let plan = plan(kernel, Arc::clone(&inputs), &memory)?;
    let outputs = Outputs::new(memory.new_empty(), memory);
    Ok(Run::new(inputs, sizes, plan, target, outputs))
}

fn plan<T: Element>(kernel: &Kernel, inputs: Arc<Inputs<T>>, memory: &MemoryReservation) -> Result<Plan> {
    Ok(match kernel.operation {
        Operation::Add => sums(inputs),
        Operation::Scale(_) => scaled(inputs),
        Operation::Transpose => transposed(inputs, memory.new_empty())?,
        Operation::Vector => products(inputs, kernel.operation.function(), true, memory.new_empty()),
        _ => products(inputs, kernel.operation.function(), false, memory.new_empty()),
    })
}

/// The blocks of the plan, without their sources if those take memory.
fn due<T: Element>(kernel: &Kernel, inputs: &Arc<Inputs<T>>, memory: &MemoryReservation) -> Result<Each<PendingBlock>> {
    let inputs = Arc::clone(inputs);
    match kernel.operation {
        Operation::Add | Operation::Scale(_) | Operation::Transpose => {
            let mut plan = plan(kernel, inputs, memory)?;
            Ok(Box::new(move |stop| Ok(plan(stop)?.map(|planned| planned.due()))))
        }
        _ => Ok(products_due(inputs, kernel.operation.function(), memory.new_empty())),
    }
}

fn norm_batch<T: Element>(
    kernel: &Kernel,
    read: &[Vec<RecordBatch>],
    target: &OutputTarget,
    memory: &MemoryReservation,
    stop: &StopFlag,
) -> Result<RecordBatch> {
    let (inputs, _) = inputs_of::<T>(kernel, read, memory, target.threads, stop)?;
    let result = norms(&inputs.a, kernel.inputs[0].block, target.threads, stop)?;
    let values = [result.frobenius, result.one, result.infinity, result.max];
    let arrays = values.map(|value| Arc::new(Float64Array::from(vec![value])) as _).to_vec();
    Ok(RecordBatch::try_new(Arc::clone(&target.schema), arrays)?)
}
