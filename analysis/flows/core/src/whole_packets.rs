//! The columns that a connection has once, and not for each direction.

use crate::column_frame::Frame;
use crate::connection::Connection;
use crate::handshake::Vantage;
use crate::networks::address_name;
use crate::segment::Ends;
use crate::sightings::Hop;

/// Which connection it is: its number, its ends as a sends, and its network's name.
pub struct Identity<'a> {
    pub number: usize,
    pub ends: Ends,
    pub network: String,
    /// Of a and of b: by how much their packets were late in the file, and their way between the
    /// places that saw them.
    pub late: [i64; 2],
    pub hops: [Option<&'a Hop>; 2],
}

pub fn whole(frame: &mut Frame, identity: Identity, connection: &Connection) {
    let Identity { number, ends, network, hops, .. } = identity;
    let (a, b) = (&connection.a, &connection.b);
    let complete = match (
        a.believed_resets() + b.believed_resets() > 0,
        a.syns.min(b.syns).min(a.fins).min(b.fins) > 0,
    ) {
        (true, _) => "reset",
        (_, true) => "yes",
        _ => "no",
    };
    let vantage = match connection.handshake.vantage {
        Vantage::A => "a",
        Vantage::B => "b",
        Vantage::Middle => "middle",
        Vantage::Unknown => "unknown",
    };
    let source =
        if connection.handshake.vantage == Vantage::Unknown { "none" } else { "handshake" };
    frame.unsigned("connection", "", number as u64);
    frame.text("network", "", network);
    frame.text("complete", "", complete.to_string());
    frame.text("vantage", "", vantage.to_string());
    frame.text("vantage_source", "", source.to_string());
    frame.integer_or_none("handshake_outer", "", connection.handshake.outer);
    frame.integer_or_none("handshake_inner", "", connection.handshake.inner);
    frame.integer_or_none("connect_time", "", connection.handshake.whole);
    frame.integer("duration", "", (connection.last_time - connection.first_time).max(0));
    let places = if hops.iter().flatten().any(|hop| hop.both > 0) { 2 } else { 1 };
    frame.unsigned("places", "", places);
    frame.unsigned("conn_#", "", number as u64);
    frame.text("host_a", "", address_name(&ends.source));
    frame.text("host_b", "", address_name(&ends.destination));
    frame.unsigned("port_a", "", u64::from(ends.ports >> 16));
    frame.unsigned("port_b", "", u64::from(ends.ports & 0xffff));
    frame.integer("first_packet", "", connection.first_time);
    frame.integer("last_packet", "", connection.last_time);
}
