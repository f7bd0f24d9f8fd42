//! What a packed file has inside: all its members (gzip), frames (zstd) or streams (bzip2, xz), one
//! after the other.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Packed bytes that are read at once.
const PIECE: usize = 1 << 16;

/// What one call of an unpacker did.
pub struct Progress {
    taken: usize,
    made: usize,
    /// Whether the member has ended.
    ended: bool,
}

/// Unpacks one member.
pub trait Unpacker: Send {
    fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> io::Result<Progress>;
}

pub type New = fn() -> io::Result<Box<dyn Unpacker>>;

/// zlib's largest window.
const WINDOW_BITS: u8 = 15;
/// Bytes that unpacking xz may take; `xz -9` needs 65 MiB.
const MOST_MEMORY: u64 = 128 << 20;

pub fn gzip() -> io::Result<Box<dyn Unpacker>> {
    Ok(Box::new(flate2::Decompress::new_gzip(WINDOW_BITS)))
}

pub fn zstd() -> io::Result<Box<dyn Unpacker>> {
    Ok(Box::new(zstd::stream::raw::Decoder::new()?))
}

pub fn bzip2() -> io::Result<Box<dyn Unpacker>> {
    Ok(Box::new(bzip2::Decompress::new(false)))
}

pub fn xz() -> io::Result<Box<dyn Unpacker>> {
    Ok(Box::new(liblzma::stream::Stream::new_stream_decoder(MOST_MEMORY, 0)?))
}

impl Unpacker for flate2::Decompress {
    fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> io::Result<Progress> {
        let (taken, made) = (self.total_in(), self.total_out());
        let status = self.decompress(packed, into, flate2::FlushDecompress::None)?;
        Ok(Progress {
            taken: (self.total_in() - taken) as usize,
            made: (self.total_out() - made) as usize,
            ended: status == flate2::Status::StreamEnd,
        })
    }
}

impl Unpacker for bzip2::Decompress {
    fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> io::Result<Progress> {
        let (taken, made) = (self.total_in(), self.total_out());
        let status = self.decompress(packed, into)?;
        Ok(Progress {
            taken: (self.total_in() - taken) as usize,
            made: (self.total_out() - made) as usize,
            ended: status == bzip2::Status::StreamEnd,
        })
    }
}

impl Unpacker for liblzma::stream::Stream {
    fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> io::Result<Progress> {
        use liblzma::stream::{Action, Status};
        let (taken, made) = (self.total_in(), self.total_out());
        let status = self.process(packed, into, Action::Run)?;
        Ok(Progress {
            taken: (self.total_in() - taken) as usize,
            made: (self.total_out() - made) as usize,
            ended: status == Status::StreamEnd,
        })
    }
}

impl Unpacker for zstd::stream::raw::Decoder<'_> {
    fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> io::Result<Progress> {
        use zstd::stream::raw::Operation;
        let status = self.run_on_buffers(packed, into)?;
        Ok(Progress {
            taken: status.bytes_read,
            made: status.bytes_written,
            ended: status.remaining == 0,
        })
    }
}

/// The unpacked stream. It ends in an error if the file is damaged or cut, after all that can be
/// unpacked before.
pub struct Unpacked {
    file: File,
    new: New,
    unpacker: Box<dyn Unpacker>,
    ended: bool,
    /// Whether the unpacker may hold back what had no room.
    holds_back: bool,
    packed: Vec<u8>,
    start: usize,
    end: usize,
    /// Places in the file: of this member, and of what is unpacked next.
    member: u64,
    at: u64,
    /// Bytes given of this member, and those to leave out because they were given before.
    given: u64,
    skip: u64,
    /// From here on the member is damaged.
    damage: Option<u64>,
}

impl Unpacked {
    /// `file` stands at its beginning.
    pub fn new(file: File, new: New) -> io::Result<Unpacked> {
        Ok(Unpacked {
            file,
            new,
            unpacker: new()?,
            ended: false,
            holds_back: false,
            packed: vec![0; PIECE],
            start: 0,
            end: 0,
            member: 0,
            at: 0,
            given: 0,
            skip: 0,
            damage: None,
        })
    }

    /// Makes packed bytes be there; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start == self.end {
            self.end = self.file.read(&mut self.packed)?;
            self.start = 0;
        }
        Ok(self.start < self.end)
    }

    fn next_member(&mut self) -> io::Result<()> {
        self.unpacker = (self.new)()?;
        (self.ended, self.member, self.given) = (false, self.at, 0);
        Ok(())
    }

    /// Packed bytes for the next call: none beyond the place of the damage, and there one by one.
    fn portion(&self) -> usize {
        let there = self.end - self.start;
        match self.damage {
            Some(place) if self.at >= place => there.min(1),
            Some(place) => there.min((place - self.at) as usize),
            None => there,
        }
    }

    /// An unpacker that meets damage keeps to itself what it has made of its last portion. So a new
    /// one takes the member again, and the last portion byte by byte.
    fn go_back(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.member))?;
        self.unpacker = (self.new)()?;
        self.damage = Some(self.at);
        (self.at, self.start, self.end) = (self.member, 0, 0);
        (self.skip, self.holds_back) = (self.given, false);
        Ok(())
    }

    /// Leaves out of `into` what was given before; how much remains.
    fn without_given(&mut self, into: &mut [u8], made: usize) -> usize {
        let again = self.skip.min(made as u64) as usize;
        self.skip -= again as u64;
        into.copy_within(again..made, 0);
        self.given += (made - again) as u64;
        made - again
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.ended && self.damage.is_some() {
                // Byte by byte not every check is made again.
                return Err(io::ErrorKind::InvalidData.into());
            }
            if !self.holds_back && !self.fill()? {
                return if self.ended { Ok(0) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
            if self.ended {
                self.next_member()?;
            }
            let portion = self.start..self.start + self.portion();
            match self.unpacker.unpack(&self.packed[portion], into) {
                Ok(done) => {
                    self.start += done.taken;
                    self.at += done.taken as u64;
                    self.ended = done.ended;
                    self.holds_back = !done.ended && done.made == into.len();
                    let made = self.without_given(into, done.made);
                    if made > 0 {
                        return Ok(made);
                    }
                }
                Err(error) if self.damage.is_some() => return Err(error),
                Err(_) => self.go_back()?,
            }
        }
    }
}

/// All frames of an lz4 file, whose library takes a file and no pieces. It gives what precedes
/// damage by itself, for it unpacks block by block.
pub struct Lz4Frames {
    /// None after the last frame, and after damage.
    frame: Option<lz4::Decoder<BlockByBlock>>,
}

/// The library asks for a block and the head of the next at once, and keeps the block to itself if
/// that head is damaged. So it gets the head alone.
struct BlockByBlock(BufReader<File>);

const BLOCK_HEAD: usize = 4;

impl Read for BlockByBlock {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len();
        self.0.read(&mut into[..if most > BLOCK_HEAD { most - BLOCK_HEAD } else { most }])
    }
}

impl Lz4Frames {
    pub fn new(file: File) -> io::Result<Lz4Frames> {
        Ok(Lz4Frames { frame: Some(lz4::Decoder::new(BlockByBlock(BufReader::new(file)))?) })
    }
}

impl Read for Lz4Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = &mut self.frame {
            let made = frame.read(into)?;
            if made > 0 {
                return Ok(made);
            }
            let (mut rest, ended) = match self.frame.take().map(lz4::Decoder::finish) {
                Some(finished) => finished,
                None => break,
            };
            // The library calls it an interruption, after which one tries again.
            ended.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            if !rest.0.fill_buf()?.is_empty() {
                self.frame = Some(lz4::Decoder::new(rest)?);
            }
        }
        Ok(0)
    }
}
