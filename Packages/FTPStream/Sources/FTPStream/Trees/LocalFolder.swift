internal import FoundationEssentials
internal import Glibc
internal import StreamKit

/// The folder that a tree is written to. Nothing is written outside: names are single, and no link is followed.
enum LocalFolder {
    /// Makes a folder, or finds that it is one; a link to one does not count, unless it is the outermost.
    static func make(_ path: String, isOutermost: Bool) throws(StreamError) {
        if mkdir(path, 0o777) == 0 { return }
        let number = errno
        var status = stat()
        let found = isOutermost ? stat(path, &status) : lstat(path, &status)
        guard number == EEXIST, found == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw StreamError(
                posix: number == EEXIST ? ENOTDIR : number,
                Sentence("ftp.folder", "The folder %1 cannot be created, or is not a folder.", path))
        }
    }

    /// What is in a folder, by name: files and folders, links not followed.
    static func contents(of path: String) throws(StreamError) -> [(name: String, kind: ListingKind)] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw StreamError(
                posix: ENOENT, Sentence("ftp.folderUnread", "The folder %1 cannot be read.", path), underlying: error)
        }
        return names.map { name in
            var status = stat()
            guard lstat(path + "/" + name, &status) == 0 else { return (name, .unknown) }
            switch status.st_mode & S_IFMT {
            case S_IFREG: return (name, .file)
            case S_IFDIR: return (name, .directory)
            default: return (name, .unknown)
            }
        }
    }
}
