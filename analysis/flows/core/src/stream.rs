//! The file as a stream of bytes: unpacked if it is gzip (RFC 1952), zstd (RFC 8878), bzip2, xz or
//! lz4, read in large pieces.

use crate::decompression::{bzip2, gzip, xz, zstd, Lz4Frames, Unpacked};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How the file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Lz4,
}

impl Compression {
    /// By the first four bytes of the file.
    fn of(magic: &[u8]) -> Compression {
        match magic {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9'] => Compression::Bzip2,
            [0xfd, b'7', b'z', b'X'] => Compression::Xz,
            [0x04, 0x22, 0x4d, 0x18] => Compression::Lz4,
            _ => Compression::None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Lz4 => "lz4",
        }
    }
}

/// Small enough for the processor's cache to hold what was read until it is used.
const PIECE: usize = 1 << 18;
/// Room for a small file, for it takes time to clear more.
const LEAST: u64 = 1 << 12;

/// A window over the stream: what was read and not yet used. It never maps the file, which may
/// shrink meanwhile.
pub struct Source {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the stream before the window.
    pub offset: u64,
    ended: bool,
    /// Whether the stream ended by an error of the system or of the unpacking, and not at its end.
    pub broken: bool,
}

impl Source {
    /// Opens `path`. Only opening and reading the first four bytes can fail; a later fault ends the
    /// stream.
    pub fn open(path: &std::path::Path) -> io::Result<(Source, Compression)> {
        let mut file = File::open(path)?;
        let mut magic = [0u8; 4];
        let length = read_up_to(&mut file, &mut magic)?;
        file.seek(SeekFrom::Start(0))?;
        let facts = file.metadata()?;
        let compression = Compression::of(&magic[..length]);
        let input: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(Unpacked::new(file, gzip)?),
            Compression::Zstd => Box::new(Unpacked::new(file, zstd)?),
            Compression::Bzip2 => Box::new(Unpacked::new(file, bzip2)?),
            Compression::Xz => Box::new(Unpacked::new(file, xz)?),
            Compression::Lz4 => Box::new(Lz4Frames::new(file)?),
        };
        let is_small = compression == Compression::None && facts.is_file();
        let room = if is_small { facts.len().clamp(LEAST, PIECE as u64) as usize } else { PIECE };
        Ok((Source::with_room(input, room), compression))
    }

    /// A stream of which all is appended.
    pub fn growing() -> Source {
        Source::over(Box::new(io::empty()))
    }

    pub fn append(&mut self, bytes: &[u8]) {
        self.make_room();
        self.buffer.truncate(self.end);
        self.buffer.extend_from_slice(bytes);
        self.end = self.buffer.len();
        self.ended = false;
    }

    pub fn over(input: Box<dyn Read + Send>) -> Source {
        Source::with_room(input, PIECE)
    }

    fn with_room(input: Box<dyn Read + Send>, room: usize) -> Source {
        Source {
            input,
            buffer: vec![0; room],
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            broken: false,
        }
    }

    /// The unused bytes that are in memory.
    #[inline(always)]
    pub fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Makes at least `length` bytes stand in the window; false if the stream ends before.
    #[inline(always)]
    pub fn need(&mut self, length: usize) -> bool {
        self.end - self.start >= length || self.fill(length)
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) {
        self.start += length;
        self.offset += length as u64;
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }

    /// Memory grows only with bytes that are there: a length that a damaged file claims allocates
    /// nothing.
    #[cold]
    fn fill(&mut self, length: usize) -> bool {
        self.make_room();
        while self.end < length && !self.ended {
            if self.end == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.ended = true;
                    self.broken = true;
                }
            }
        }
        self.end >= length
    }
}

fn read_up_to(file: &mut File, into: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < into.len() {
        match file.read(&mut into[length..])? {
            0 => break,
            count => length += count,
        }
    }
    Ok(length)
}
