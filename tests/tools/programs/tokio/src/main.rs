// A server and a client of tokio with four workers: eight pages at once.
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(worker_threads = 4)]
async fn main() {
    if std::env::args().nth(1).is_some() {
        let listener = TcpListener::bind("0.0.0.0:7000").await.unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move { stream.write_all(&[b'x'; 20_000]).await });
        }
    }
    let begun = Instant::now();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn(async {
                let mut page = Vec::new();
                let mut stream = TcpStream::connect("h2:7000").await.unwrap();
                stream.read_to_end(&mut page).await.unwrap();
                assert_eq!(page.len(), 20_000);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    println!("8 pages in {:?}", begun.elapsed());
}
