//! The answer to each request.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::monitor::Monitor;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Answer = Response<Full<Bytes>>;

pub fn is_quick<B>(request: &Request<B>) -> bool {
    request.uri().path() != "/metrics"
}

/// The body of the request is not read.
pub fn answer<B>(request: &Request<B>, monitor: &Monitor) -> Answer {
    let mut answer = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/health") => health(monitor),
        (&Method::GET | &Method::HEAD, "/metrics") => metrics(monitor),
        (_, "/health" | "/metrics") => {
            let mut refused = text_response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "this is only read: use GET\n".to_string());
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            refused
        }
        _ => text_response(StatusCode::NOT_FOUND, TEXT, "there is /health and /metrics\n".to_string()),
    };
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn health(monitor: &Monitor) -> Answer {
    let health = monitor.health();
    let status = if health.takes_statements() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&health) {
        Ok(text) => text_response(status, JSON, text + "\n"),
        Err(error) => text_response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
    }
}

fn metrics(monitor: &Monitor) -> Answer {
    match monitor.metrics() {
        Ok(text) => text_response(StatusCode::OK, OPEN_METRICS, text),
        Err(error) => text_response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
    }
}

fn text_response(status: StatusCode, content_type: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
