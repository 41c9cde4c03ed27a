/// Where a Unix-domain socket lives (unix(7)).
///
/// ```swift
/// let daemon = try UnixSocketAddress(path: "/run/daemon.sock")
/// let hidden = try UnixSocketAddress(abstractName: "daemon")
/// ```
public struct UnixSocketAddress: Hashable, Sendable {
    /// Most bytes that a path or an abstract name may have: `sun_path` has 108, one is for the NUL.
    public static let longestName = 107

    /// The bytes of `sun_path`: empty if unnamed, starting with NUL if abstract, else the path without NUL at the end.
    let bytes: [UInt8]

    /// A socket in the file system.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the path is empty, has a NUL or is longer than
    ///   ``longestName``.
    public init(path: String) throws(ResolverError) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count <= Self.longestName else {
            throw ResolverError(.invalidAddress, name: path)
        }
        self.bytes = bytes
    }

    /// A socket in Linux's abstract name space: no file, gone with its last user.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the name is empty or longer than ``longestName``.
    public init(abstractName: String) throws(ResolverError) {
        guard !abstractName.isEmpty, abstractName.utf8.count <= Self.longestName else {
            throw ResolverError(.invalidAddress, name: abstractName)
        }
        bytes = [0] + Array(abstractName.utf8)
    }

    /// What the kernel reports for a socket that was never bound, such as a client's end.
    public static let unnamed = UnixSocketAddress(kernelBytes: [])

    init(kernelBytes: [UInt8]) {
        bytes = kernelBytes
    }

    /// The path in the file system; nil for abstract and unnamed sockets.
    public var path: String? {
        bytes.first.map { $0 != 0 } == true ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// The name in the abstract name space; nil for the others.
    public var abstractName: String? {
        bytes.first == 0 ? String(decoding: bytes.dropFirst(), as: UTF8.self) : nil
    }
}

extension UnixSocketAddress: CustomStringConvertible {
    /// The path, `@name` for an abstract one (as ss(8) prints it), `unnamed`.
    public var description: String {
        path ?? abstractName.map { "@" + $0 } ?? "unnamed"
    }
}
