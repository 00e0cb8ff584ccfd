//! The bitcode on a link line: objects, and members of archives.

use anyhow::{Context, Result};
use object::read::archive::ArchiveFile;
use pullback_abi::markers::{LATER, MARKER};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A file on the link line, in memory.
pub struct Input {
    /// Its position on the line.
    pub position: usize,
    /// Its path.
    pub path: PathBuf,
    /// Its members: of an archive all of them in order, of an object the object itself.
    pub members: Vec<Member>,
    /// Whether it is an archive.
    pub is_archive: bool,
}

/// A part of a file.
#[derive(Clone)]
pub struct Member {
    /// Its name in the archive; of an object the file name.
    pub name: String,
    file: Rc<[u8]>,
    range: std::ops::Range<usize>,
}

impl Input {
    /// Read a file. A thin archive, or an archive that cannot be read, is taken as one without members: the real linker
    /// will have its say on it.
    pub fn read(position: usize, path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("could not read `{}`", path.display()))?;
        let file: Rc<[u8]> = bytes.into();
        let is_archive = file.starts_with(b"!<arch>\n");
        let members = if is_archive {
            archive_members(&file)
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            vec![Member { name, range: 0..file.len(), file }]
        };
        Ok(Input { position, path: path.to_owned(), members, is_archive })
    }
}

fn archive_members(file: &Rc<[u8]>) -> Vec<Member> {
    let Ok(archive) = ArchiveFile::parse(&**file) else { return Vec::new() };
    if archive.is_thin() {
        return Vec::new();
    }
    let member = |member: object::Result<object::read::archive::ArchiveMember<'_>>| {
        let member = member.ok()?;
        let (start, size) = member.file_range();
        let start = usize::try_from(start).ok()?;
        let range = start..start.checked_add(usize::try_from(size).ok()?)?;
        file.get(range.clone())?;
        Some(Member { name: String::from_utf8_lossy(member.name()).into_owned(), file: file.clone(), range })
    };
    archive.members().filter_map(member).collect()
}

impl Member {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }

    /// Where it begins in its file.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// The whole file it is a part of.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Whether it is LLVM bitcode.
    pub fn is_bitcode(&self) -> bool {
        self.bytes().starts_with(b"BC\xC0\xDE") || self.bytes().starts_with(&[0xDE, 0xC0, 0x17, 0x0B])
    }

    /// Whether the name of a symbol can be found in it. Names stand in bitcode as they are, one after the other, so
    /// that a module without the bytes does not have the symbol; one with them may still not have it.
    pub fn mentions(&self, symbol: &str) -> bool {
        memchr::memmem::find(self.bytes(), symbol.as_bytes()).is_some()
    }

    /// Whether this is a module that may ask for derivatives.
    pub fn may_have_requests(&self) -> bool {
        self.is_bitcode() && (self.mentions(MARKER) || self.mentions(LATER))
    }
}

/// Write an archive of these members, with a table of the symbols of those that are native objects.
pub fn write_archive(path: &Path, members: &[(String, &[u8])]) -> Result<()> {
    let members: Vec<_> = members
        .iter()
        .map(|(name, bytes)| {
            let reader = &ar_archive_writer::DEFAULT_OBJECT_READER;
            ar_archive_writer::NewArchiveMember::new(*bytes, reader, name.clone())
        })
        .collect();
    let mut file = std::io::Cursor::new(Vec::new());
    ar_archive_writer::write_archive_to_stream(&mut file, &members, ar_archive_writer::ArchiveKind::Gnu, false, None)
        .and_then(|()| std::fs::write(path, file.into_inner()))
        .with_context(|| format!("could not write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_there_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("liba.rlib");
        let module = [b"BC\xC0\xDE".as_slice(), b"....__pullback_marker.."].concat();
        let members = [("lib.rmeta".to_owned(), b"__pullback_marker".as_slice()), ("a.rcgu.o".to_owned(), &module)];
        write_archive(&path, &members).unwrap();

        let input = Input::read(3, &path).unwrap();
        assert!(input.is_archive);
        let names: Vec<_> = input.members.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["lib.rmeta", "a.rcgu.o"]);
        assert_eq!(input.members[1].bytes(), module);
        assert!(!input.members[0].may_have_requests(), "the metadata is not a module");
        assert!(input.members[1].may_have_requests());
    }
}
