//! Results are streamed in messages of a bounded size.

use arrow::array::{Array, AsArray};
use arrow_flight::FlightData;
use futures::StreamExt;

use crate::helpers::{Served, ticket, wait};

/// The default limit of messages in gRPC clients.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

#[test]
fn a_hundred_megabytes_come_in_messages_of_a_bounded_size() {
    let served = Served::new();
    served.update(
        "CREATE TABLE wide AS SELECT value AS id, repeat('quiver and arrow ', 60) AS words FROM generate_series(1, 100000) AS t (value)",
    );
    let info = wait(served.client().execute("SELECT * FROM wide".into(), None)).unwrap();
    let (mut bytes, mut largest, mut rows) = (0, 0, 0);
    wait(async {
        let mut messages = served.flight().do_get(ticket(&info)).await.unwrap().into_inner();
        let mut decoded = Vec::new();
        while let Some(message) = messages.next().await {
            let message: FlightData = message.unwrap();
            let size = message.data_body.len() + message.data_header.len();
            (bytes, largest) = (bytes + size, largest.max(size));
            decoded.push(message);
            if decoded.len() > 1 {
                let last = decoded.split_off(1);
                let batches = arrow_flight::utils::flight_data_to_batches(&[decoded[0].clone(), last[0].clone()]).unwrap();
                rows += batches[0].num_rows();
            }
        }
    });
    assert_eq!(rows, 100_000);
    assert!(bytes > 100_000_000, "{bytes}");
    assert!(largest < MESSAGE_BYTES_MAX, "{largest}");
}

#[test]
fn few_rows_of_many_bytes_are_cut_as_well() {
    let served = Served::new();
    let sql =
        "SELECT repeat('x', 1000000) AS words, [repeat('y', 500000), repeat('z', 500000)] AS list FROM generate_series(1, 20) AS t (value)";
    let info = wait(served.client().execute(sql.into(), None)).unwrap();
    let batches = wait(async {
        let mut client = served.client();
        crate::helpers::fetch(&mut client, &info).await.unwrap()
    });
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 20);
    assert!(batches.iter().all(|batch| batch.num_rows() <= 1));
    let words = batches[0].column(0).as_string::<i32>();
    assert_eq!(words.value(0).len(), 1_000_000);
    assert_eq!(batches[0].column(1).as_list::<i32>().value(0).len(), 2);
}

#[test]
fn a_client_that_reads_slowly_holds_the_query_back() {
    let served = Served::new();
    let sql = "SELECT value, repeat('back-pressure ', 100) AS words FROM generate_series(1, 100000000) AS t (value)";
    let info = wait(served.client().execute(sql.into(), None)).unwrap();
    wait(async {
        let mut messages = served.flight().do_get(ticket(&info)).await.unwrap().into_inner();
        messages.next().await.unwrap().unwrap();
        // The result has 140 GB: if it were computed ahead of the reader, memory would run out.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        messages.next().await.unwrap().unwrap();
    });
    assert!(resident_bytes() < 2 << 30, "{}", resident_bytes());
}

fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
