// A server and a client of QUIC, by quinn with four workers: four streams over one connection.
use quinn::{ClientConfig, Endpoint, ServerConfig};
use std::fs::File;
use std::io::BufReader;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Instant;

const LONGEST: usize = 1 << 24;

fn opened(name: &str) -> BufReader<File> {
    BufReader::new(File::open(name).unwrap())
}

async fn serve(connection: quinn::Incoming) {
    let connection = connection.await.unwrap();
    while let Ok((mut sent, mut received)) = connection.accept_bi().await {
        let page = received.read_to_end(LONGEST).await.unwrap();
        sent.write_all(&page).await.unwrap();
        sent.finish().unwrap();
    }
}

async fn echoed(connection: quinn::Connection, number: u8) {
    let (mut sent, mut received) = connection.open_bi().await.unwrap();
    sent.write_all(&vec![number; 50_000]).await.unwrap();
    sent.finish().unwrap();
    assert_eq!(received.read_to_end(LONGEST).await.unwrap().len(), 50_000);
}

#[tokio::main(worker_threads = 4)]
async fn main() {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let certificates: Vec<_> = rustls_pemfile::certs(&mut opened("cert.pem"))
        .map(|read| read.unwrap())
        .collect();
    if std::env::args().nth(1).is_some() {
        let key = rustls_pemfile::private_key(&mut opened("key.pem")).unwrap().unwrap();
        let settings = ServerConfig::with_single_cert(certificates, key).unwrap();
        let endpoint = Endpoint::server(settings, "0.0.0.0:7000".parse().unwrap()).unwrap();
        while let Some(connection) = endpoint.accept().await {
            tokio::spawn(serve(connection));
        }
        return;
    }
    let begun = Instant::now();
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse().unwrap()).unwrap();
    let settings = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    endpoint.set_default_client_config(settings);
    let server = "h2:7000".to_socket_addrs().unwrap().next().unwrap();
    let connection = endpoint.connect(server, "h2").unwrap().await.unwrap();
    let streams: Vec<_> =
        (0..4).map(|number| tokio::spawn(echoed(connection.clone(), number))).collect();
    for stream in streams {
        stream.await.unwrap();
    }
    println!("4 streams in {:?}, round trip {:?}", begun.elapsed(), connection.rtt());
}
