/// The address of a Unix-domain socket (unix(7)): a path, an abstract name, or unnamed.
///
/// ```swift
/// let daemon = try UnixSocketAddress(path: "/run/daemon.sock")
/// let hidden = try UnixSocketAddress(abstractName: "daemon")
/// ```
public struct UnixSocketAddress: Hashable, Sendable {
    /// The longest path or abstract name, in bytes: `sun_path` has 108, of which one is for the NUL.
    public static let longestName = 107

    /// The bytes of `sun_path`: empty if unnamed, a NUL and the name if abstract, otherwise the path without its final
    /// NUL.
    let bytes: [UInt8]

    /// Creates the address of a socket in the file system.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the path is empty, contains a NUL or is longer
    ///   than ``longestName``.
    public init(path: String) throws(ResolverError) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count <= Self.longestName else {
            throw ResolverError(.invalidAddress, name: path)
        }
        self.bytes = bytes
    }

    /// Creates the address of a socket in Linux's abstract name space, which leaves no file behind.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the name is empty or longer than
    ///   ``longestName``.
    public init(abstractName: String) throws(ResolverError) {
        guard !abstractName.isEmpty, abstractName.utf8.count <= Self.longestName else {
            throw ResolverError(.invalidAddress, name: abstractName)
        }
        bytes = [0] + Array(abstractName.utf8)
    }

    /// The address that the kernel reports for an unbound socket, such as a client's.
    public static let unnamed = UnixSocketAddress(kernelBytes: [])

    init(kernelBytes: [UInt8]) {
        bytes = kernelBytes
    }

    /// The path in the file system; nil for abstract and unnamed sockets.
    public var path: String? {
        bytes.first.map { $0 != 0 } == true ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// The name in the abstract name space; nil for paths and unnamed sockets.
    public var abstractName: String? {
        bytes.first == 0 ? String(decoding: bytes.dropFirst(), as: UTF8.self) : nil
    }
}

extension UnixSocketAddress: CustomStringConvertible {
    /// The path, `@name` for an abstract name (as in ss(8)), or `unnamed`.
    public var description: String {
        path ?? abstractName.map { "@" + $0 } ?? "unnamed"
    }
}
