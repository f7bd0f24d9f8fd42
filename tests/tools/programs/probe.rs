// A server and a client of the standard library, with threads.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::{env, thread, time::Instant};

fn main() {
    if env::args().nth(1).as_deref() == Some("server") {
        for stream in TcpListener::bind("0.0.0.0:7000").unwrap().incoming() {
            thread::spawn(move || stream.unwrap().write_all(&[b'x'; 20_000]).unwrap());
        }
    }
    let begun = Instant::now();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(|| {
                let mut page = Vec::new();
                TcpStream::connect("h2:7000").unwrap().read_to_end(&mut page).unwrap();
                assert_eq!(page.len(), 20_000);
            })
        })
        .collect();
    threads.into_iter().for_each(|each| each.join().unwrap());
    println!("8 pages in {:.6} s", begun.elapsed().as_secs_f64());
}
