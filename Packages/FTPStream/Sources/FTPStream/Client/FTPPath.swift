public import FoundationEssentials
public import StreamKit

/// The name of a file or directory on a server, as the bytes that go over the wire.
///
/// Relative to the directory of the log-in unless it begins with a slash. A literal is text in UTF-8; what a listing gave is
/// best used as it came: `folder.appending(entry.nameBytes)`.
public struct FTPPath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes.
    public var bytes: [UInt8]

    /// A path of these bytes.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A path of text, as UTF-8.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// A path of text, as UTF-8.
    public init(stringLiteral text: String) {
        self.init(text)
    }

    /// The path of something in this directory.
    public func appending(_ name: [UInt8]) -> FTPPath {
        if bytes.isEmpty { return FTPPath(bytes: name) }
        return FTPPath(bytes: bytes.last == UInt8(ascii: "/") ? bytes + name : bytes + [UInt8(ascii: "/")] + name)
    }

    /// The path as text, UTF-8 or else Latin-1.
    public var description: String { ListingEntry(nameBytes: bytes).name }
}

extension FTPPath {
    /// The path of an FTP URL: relative to the directory of the log-in, unless it begins with `%2F`.
    ///
    /// - Throws: as `ReadStream.init(ftpURL:loop:)`.
    public init(_ url: URL) throws(StreamError) {
        bytes = try FTPConversation.converting { () throws(FTPError) in try FTPLocation(url).path }
    }
}
