//! What Python sees: one function that returns plain facts and the columns' bytes, for NumPy to
//! read.

use crate::column_frame::{Column, Frame, Values};
use crate::connection_table::{Table, TableEntry};
use crate::deduplication::Unwritten;
use crate::drawn_rows::{DrawnRow, DrawnRows};
use crate::growing::GrowingCapture;
use crate::limit_history::LimitRows;
use crate::link_layer::NAMES;
use crate::networks::Networks;
use crate::packet_parser::{Asked, Facts, Moment, PacketParser, Period};
use crate::packet_records::Fault;
use crate::packet_rows::{Piece, Rows};
use crate::pairs::Pairs;
use crate::second_reading::Plan;
use crate::text_lines::{TextCells, TextColumn};
use crate::tunnels::UdpTunnel;
use crate::whole_packets::Identity;
use crate::{connection_rows, deduplication, exchange_reader, read, text_lines, Reading, Refused};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::PathBuf;

/// Two moments, each in nanoseconds and whether they count from the first packet.
type Between = ((i64, bool), (i64, bool));

/// Rows at most, connections at most, and the numbers of those that get rows (see `drawn_rows`).
type Thinned = (usize, usize, Option<Vec<u32>>);

/// The facts of the file, `connections` as (name, type, values, valid), and `packets` as a list of
/// such lists, perhaps `thinned`.
#[pyfunction]
#[pyo3(signature = (path, packets, compatible, period=None, tunnels=Vec::new(), thinned=None))]
fn analyse(
    py: Python<'_>,
    path: PathBuf,
    packets: bool,
    compatible: bool,
    period: Option<Between>,
    tunnels: Vec<(u16, String)>,
    thinned: Option<Thinned>,
) -> PyResult<Bound<'_, PyDict>> {
    let asked = asked(period, &tunnels)?;
    let drawn = thinned.map(|(most, connections, only)| DrawnRows::new(most, connections, only));
    let rows = packets.then(|| drawn.map_or_else(Rows::default, Rows::drawn));
    let mut table = Table::new(compatible, rows);
    let mut raised = None;
    let mut go_on = || {
        raised = Python::with_gil(|py| py.check_signals().err());
        raised.is_none()
    };
    let reading = py.allow_threads(|| read(&path, &mut table, asked, &mut go_on));
    if let Some(error) = raised {
        return Err(error);
    }
    let reading = reading.map_err(refused)?;
    let facts = PyDict::new(py);
    facts.set_item("format", reading.format.name())?;
    facts.set_item("compression", reading.compression.name())?;
    facts.set_item("bytes", reading.bytes)?;
    fault(&facts, reading.fault)?;
    facts.set_item("is_sorted", reading.plan.as_ref().map_or(false, |plan| plan.horizon > 0))?;
    file(&facts, &reading.facts)?;
    let (frame, limits) = py.allow_threads(|| frames(&mut table, &reading));
    facts.set_item("connections", columns(py, frame.columns)?)?;
    facts.set_item("is_without_rows", table.is_without_rows)?;
    let datagrams = reading.datagrams.frame(&reading.networks);
    facts.set_item("udp", columns(py, datagrams.columns)?)?;
    let errors = reading.errors.frame(&reading.networks);
    facts.set_item("icmp", columns(py, errors.columns)?)?;
    facts.set_item("limits", limit_columns(py, &limits)?)?;
    packet_rows(&facts, table.rows)?;
    Ok(facts)
}

fn packet_rows(made: &Bound<'_, PyDict>, rows: Option<Rows>) -> PyResult<()> {
    let (py, mut rows) = (made.py(), rows.unwrap_or_default());
    let pieces = PyList::empty(py);
    for piece in rows.pieces {
        pieces.append(packets_piece(py, &piece)?)?;
    }
    let mut grains = None;
    if let Some(drawn) = &mut rows.drawn {
        let count = rows.count;
        pieces.append(drawn_columns(py, drawn)?)?;
        grains = (drawn.grain > 0).then(|| (count, 1u64 << drawn.grain, 1u64 << drawn.event_grain));
    }
    made.set_item("packets_pieces", pieces)?;
    made.set_item("copies", rows.copies)?;
    made.set_item("thinned", grains)
}

fn drawn_columns<'py>(py: Python<'py>, drawn: &mut DrawnRows) -> PyResult<Bound<'py, PyDict>> {
    let rows = drawn.finish();
    let made = PyDict::new(py);
    let set = |name: &str, kind: &str, values: Bound<'py, PyBytes>, valid: &[u8]| {
        made.set_item(name, (kind, values, PyBytes::new(py, valid)))
    };
    let wide = |name: &str, of: &dyn Fn(&DrawnRow) -> u64| {
        set(name, "uint64", bytes(py, &rows.iter().map(of).collect::<Vec<_>>()), b"")
    };
    let truth = |name: &str, of: &dyn Fn(&DrawnRow) -> bool| {
        set(name, "bool", bytes(py, &rows.iter().map(of).collect::<Vec<_>>()), b"")
    };
    wide("number", &|row| row.number)?;
    wide("sequence", &|row| row.sequence)?;
    wide("window", &|row| row.window)?;
    wide("in_flight", &|row| row.in_flight)?;
    wide("peer_in_flight", &|row| row.peer_in_flight)?;
    truth("forward", &|row| row.forward)?;
    truth("dsack", &|row| row.dsack)?;
    let times: Vec<i64> = rows.iter().map(|row| row.time).collect();
    set("time", "int64", bytes(py, &times), b"")?;
    let connections: Vec<u32> = rows.iter().map(|row| row.connection).collect();
    set("connection", "uint32", bytes(py, &connections), b"")?;
    let payloads: Vec<u32> = rows.iter().map(|row| row.payload).collect();
    set("payload", "uint32", bytes(py, &payloads), b"")?;
    let flags: Vec<u16> = rows.iter().map(|row| row.flags).collect();
    set("flags", "uint16", bytes(py, &flags), b"")?;
    let kinds: Vec<u8> = rows.iter().map(|row| row.kind).collect();
    set("kind", "uint8", bytes(py, &kinds), b"")?;
    let acks: Vec<u64> = rows.iter().map(|row| row.acknowledgement.unwrap_or(0)).collect();
    let valid: Vec<u8> = rows.iter().map(|row| row.acknowledgement.is_some().into()).collect();
    set("acknowledgement", "uint64", bytes(py, &acks), &valid)?;
    let trips: Vec<i64> = rows.iter().map(|row| row.sample().unwrap_or(0)).collect();
    let valid: Vec<u8> = rows.iter().map(|row| row.sample().is_some().into()).collect();
    set("rtt", "int64", bytes(py, &trips), &valid)?;
    let (mut sack_row, mut sack_value) = (Vec::<u32>::new(), Vec::<u64>::new());
    for (at, row) in rows.iter().enumerate() {
        for (left, right) in row.sacks.iter().flat_map(|blocks| blocks.iter()) {
            sack_row.extend([at as u32, at as u32]);
            sack_value.extend([(*left).max(0) as u64, (*right).max(0) as u64]);
        }
    }
    set("sack_row", "uint32", bytes(py, &sack_row), b"")?;
    set("sack_value", "uint64", bytes(py, &sack_value), b"")?;
    if drawn.grain > 0 {
        wide("carried", &|row| row.carried)?;
        wide("carriers", &|row| row.carriers)?;
        set("left_out", "uint64", bytes(py, &drawn.left_out(&rows)), b"")?;
        truth("regular", &|row| drawn.is_regular(row))?;
    }
    Ok(made)
}

fn asked(period: Option<Between>, tunnels: &[(u16, String)]) -> PyResult<Asked> {
    let mut known = Vec::new();
    for (port, name) in tunnels {
        match UdpTunnel::named(name) {
            Some(kind) => known.push((*port, kind)),
            None => return Err(PyValueError::new_err(format!("no tunnel {name}"))),
        }
    }
    Ok(Asked { period: period.map(within), tunnels: known })
}

fn within((since, until): Between) -> Period {
    let moment = |(time, relative)| Moment { time, relative };
    Period { since: moment(since), until: moment(until) }
}

/// Requests and answers, as columns of `analyse`.
#[pyfunction]
#[pyo3(signature = (path, period=None, tunnels=Vec::new()))]
fn exchanges(
    py: Python<'_>,
    path: PathBuf,
    period: Option<Between>,
    tunnels: Vec<(u16, String)>,
) -> PyResult<Bound<'_, PyDict>> {
    let asked = asked(period, &tunnels)?;
    let mut raised = None;
    let mut go_on = || {
        raised = Python::with_gil(|py| py.check_signals().err());
        raised.is_none()
    };
    let found = py.allow_threads(|| exchange_reader::exchanges(&path, asked, &mut go_on));
    if let Some(error) = raised {
        return Err(error);
    }
    let found = found.map_err(refused)?;
    let mut frame = Frame::new(found.len());
    for placed in found {
        exchange_reader::add(&mut frame, placed);
    }
    columns(py, frame.columns)
}

fn refused(why: Refused) -> PyErr {
    match why {
        Refused::Unreadable(error) => PyOSError::new_err(error),
        Refused::NoCapture => PyValueError::new_err("no capture"),
    }
}

fn fault(made: &Bound<'_, PyDict>, fault: Option<(Fault, u64)>) -> PyResult<()> {
    made.set_item("fault", fault.map(|(why, _)| why.name()))?;
    made.set_item("fault_offset", fault.map(|(_, offset)| offset))
}

fn file(made: &Bound<'_, PyDict>, facts: &Facts) -> PyResult<()> {
    made.set_item("link_types", facts.link_types.clone())?;
    made.set_item("snaplen", facts.snaplen)?;
    made.set_item("packets", facts.packets)?;
    made.set_item("tcp_segments", facts.segments)?;
    made.set_item("first", facts.first)?;
    made.set_item("last", facts.last)?;
    made.set_item("backwards", facts.backwards)?;
    made.set_item("longest_back", facts.longest_back)?;
    made.set_item("lost", facts.lost)?;
    made.set_item("lost_since", facts.lost_since)?;
    made.set_item("lost_until", facts.lost_until)?;
    made.set_item("timeless", facts.timeless)?;
    made.set_item("unread_types", facts.unread_types.clone())?;
    let ignored = PyDict::new(made.py());
    for (name, count) in NAMES.iter().zip(facts.ignored) {
        if count > 0 {
            ignored.set_item(name, count)?;
        }
    }
    made.set_item("ignored", ignored)
}

/// The connections' frame, and with rows of packets the intervals of their limits. Each
/// connection's memory is freed with its row.
fn frames(table: &mut Table, reading: &Reading) -> (Frame, LimitRows) {
    let (mut frame, mut limits) = (Frame::new(table.connections.len()), LimitRows::default());
    let (compatible, rows) = (table.compatible, table.rows.as_ref());
    for known in std::mem::take(&mut table.connections) {
        let keeps_limits = rows.map_or(false, |rows| rows.takes(known.number));
        let identity = identity(&known, &reading.pairs, &reading.networks, reading.plan.as_ref());
        let mut connection = known.counted((compatible, keeps_limits));
        if let (true, Some(last)) = (compatible, reading.facts.last) {
            connection.idle_until(last);
        }
        connection_rows::add(&mut frame, &mut limits, identity, &mut connection, compatible);
    }
    (frame, limits)
}

fn identity<'a>(
    known: &TableEntry,
    pairs: &Pairs,
    networks: &Networks,
    plan: Option<&'a Plan>,
) -> Identity<'a> {
    let ends = pairs.ends(known.pair, known.turned);
    let network = networks.name(ends.network);
    let ways = [(known.pair, known.turned), (known.pair, !known.turned)];
    let late = ways.map(|way| plan.map_or(0, |plan| plan.late_by(way)));
    let hops = ways.map(|way| plan.and_then(|plan| plan.hop(way)));
    Identity { number: known.number as usize, ends, network, late, hops }
}

/// A capture that grows; the thread that makes it feeds it.
#[pyclass(unsendable)]
struct Follower(GrowingCapture);

#[pymethods]
impl Follower {
    /// Of more than `most` connections half are forgotten.
    #[new]
    fn new(most: usize) -> Follower {
        Follower(GrowingCapture::new(most))
    }

    /// Takes the next bytes of the file.
    fn feed(&mut self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        py.allow_threads(|| self.0.feed(bytes)).map_err(refused)
    }

    /// No more bytes come.
    fn end(&mut self) {
        self.0.end();
    }

    /// As `analyse`, of what came so far and is remembered, with the number of all connections.
    fn results<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        facts.set_item("format", self.0.format().map_or("", |format| format.name()))?;
        facts.set_item("compression", "")?;
        facts.set_item("bytes", self.0.offset())?;
        facts.set_item("is_sorted", false)?;
        fault(&facts, self.0.fault)?;
        let counting = &mut self.0.counting;
        file(&facts, &counting.parser.facts())?;
        facts.set_item("connections_in_all", counting.table.count)?;
        let frame = py.allow_threads(|| present_frame(&mut counting.table, &counting.parser));
        facts.set_item("connections", columns(py, frame.columns)?)?;
        Ok(facts)
    }
}

/// As `frame`, of connections that go on.
fn present_frame(table: &mut Table, parser: &PacketParser) -> Frame {
    let (mut frame, mut limits) = (Frame::new(table.connections.len()), LimitRows::default());
    for known in &mut table.connections {
        let identity = identity(known, &parser.pairs, parser.networks(), None);
        known.look(false, |connection| {
            connection_rows::add(&mut frame, &mut limits, identity, connection, false);
        });
    }
    frame
}

/// Each column is freed as soon as Python has it. A value that all rows share is handed over once.
fn columns<'py>(py: Python<'py>, columns: Vec<Column>) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for column in columns {
        let valid = bytes(py, column.valid.values());
        let (kind, values) = match &column.values {
            Values::Unsigned(cells) => {
                (intern!(py, "uint64"), bytes(py, cells.values()).into_any())
            }
            Values::Integer(cells) => (intern!(py, "int64"), bytes(py, cells.values()).into_any()),
            Values::Float(cells) => (intern!(py, "float64"), bytes(py, cells.values()).into_any()),
            Values::Text(cells) => {
                (intern!(py, "text"), PyList::new(py, cells.values())?.into_any())
            }
        };
        made.set_item(&column.name, (kind, values, valid))?;
    }
    Ok(made)
}

fn bytes<'py, T: bytemuck::NoUninit>(py: Python<'py>, values: &[T]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, bytemuck::cast_slice(values))
}

fn limit_columns<'py>(py: Python<'py>, rows: &LimitRows) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    let numbers = |name: &str, kind: &str, values: Bound<'py, PyBytes>| {
        made.set_item(name, (kind, values, PyBytes::new(py, b"")))
    };
    numbers("connection", "uint32", bytes(py, &rows.connection))?;
    numbers("forward", "bool", bytes(py, &rows.forward))?;
    made.set_item("cause", ("text", PyList::new(py, &rows.cause)?, PyBytes::new(py, b"")))?;
    numbers("since", "int64", bytes(py, &rows.since))?;
    numbers("until", "int64", bytes(py, &rows.until))?;
    numbers("time", "int64", bytes(py, &rows.time))?;
    Ok(made)
}

fn packets_piece<'py>(py: Python<'py>, piece: &Piece) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    let always = |name: &str, kind: &str, values: Bound<'py, PyBytes>| {
        made.set_item(name, (kind, values, PyBytes::new(py, b"")))
    };
    let maybe = |name: &str, kind: &str, values: Bound<'py, PyBytes>, valid: &[u8]| {
        made.set_item(name, (kind, values, PyBytes::new(py, valid)))
    };
    always("number", "uint64", bytes(py, &piece.number))?;
    always("time", "int64", bytes(py, &piece.time))?;
    always("connection", "uint32", bytes(py, &piece.connection))?;
    always("forward", "bool", bytes(py, &piece.forward))?;
    always("sequence", "uint64", bytes(py, &piece.sequence))?;
    maybe(
        "acknowledgement",
        "uint64",
        bytes(py, &piece.acknowledgement),
        &piece.has_acknowledgement,
    )?;
    always("payload", "uint32", bytes(py, &piece.payload))?;
    always("window", "uint64", bytes(py, &piece.window))?;
    always("flags", "uint16", bytes(py, &piece.flags))?;
    always("sack_row", "uint32", bytes(py, &piece.sack_row))?;
    always("sack_value", "uint64", bytes(py, &piece.sack_value))?;
    always("dsack", "bool", bytes(py, &piece.dsack))?;
    maybe("timestamp", "uint32", bytes(py, &piece.timestamp), &piece.has_timestamp)?;
    maybe("echo", "uint32", bytes(py, &piece.echo), &piece.has_timestamp)?;
    maybe("ip_id", "uint16", bytes(py, &piece.ip_id), &piece.has_ip_id)?;
    always("ecn", "uint8", bytes(py, &piece.ecn))?;
    always("ttl", "uint8", bytes(py, &piece.ttl))?;
    always("kind", "uint8", bytes(py, &piece.kind))?;
    always("in_flight", "uint64", bytes(py, &piece.in_flight))?;
    always("peer_in_flight", "uint64", bytes(py, &piece.peer_in_flight))?;
    maybe("rtt", "int64", bytes(py, &piece.rtt), &piece.has_rtt)?;
    Ok(made)
}

/// Columns as `analyse` gives them, as lines of CSV.
#[pyfunction]
fn lines(py: Python<'_>, columns: Vec<Handed<'_>>) -> PyResult<String> {
    let columns = columns.iter().map(text_column).collect::<PyResult<Vec<_>>>()?;
    Ok(py.allow_threads(|| text_lines::lines(&columns)))
}

/// A column's type, values, and which of them are missing.
type Handed<'py> = (String, Bound<'py, PyAny>, Bound<'py, PyBytes>);

fn text_column((kind, values, valid): &Handed<'_>) -> PyResult<TextColumn> {
    let cells = match kind.as_str() {
        "uint64" => TextCells::Unsigned(numbers(values, u64::from_ne_bytes)?),
        "int64" => TextCells::Integer(numbers(values, i64::from_ne_bytes)?),
        "float64" => TextCells::Float(numbers(values, f64::from_ne_bytes)?),
        "text" => TextCells::Text(values.extract()?),
        _ => return Err(PyValueError::new_err("no type of a connection's columns")),
    };
    Ok(TextColumn { cells, valid: valid.as_bytes().to_vec() })
}

fn numbers<T>(values: &Bound<'_, PyAny>, number: fn([u8; 8]) -> T) -> PyResult<Vec<T>> {
    let bytes = values.downcast::<PyBytes>()?.as_bytes();
    let eight = |chunk: &[u8]| number(std::array::from_fn(|at| chunk[at]));
    Ok(bytes.chunks_exact(8).map(eight).collect())
}

/// Writes the capture at `path` to `to` without the records of these numbers. Raises OSError if
/// either file fails, ValueError for one that is no capture or has several link types.
#[pyfunction]
fn write_without(py: Python<'_>, path: PathBuf, to: PathBuf, left_out: Vec<u64>) -> PyResult<()> {
    py.allow_threads(|| deduplication::write_without(&path, &to, left_out)).map_err(|why| match why
    {
        Unwritten::Refused(why) => refused(why),
        Unwritten::Output(error) => PyOSError::new_err(error),
        Unwritten::LinkTypes => PyValueError::new_err("several link types"),
    })
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Follower>()?;
    module.add_function(wrap_pyfunction!(exchanges, module)?)?;
    module.add_function(wrap_pyfunction!(lines, module)?)?;
    module.add_function(wrap_pyfunction!(write_without, module)?)?;
    module.add_function(wrap_pyfunction!(analyse, module)?)
}
