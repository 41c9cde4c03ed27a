internal import Glibc

/// The text of a file whose size is unknown, such as those in /proc.
func readText(_ path: String) throws(PeerError) -> String {
    String(decoding: try readBytes(path), as: UTF8.self)
}

/// The bytes of a file whose size is unknown, such as those in /proc.
func readBytes(_ path: String) throws(PeerError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
        throw PeerError(.refused, "cannot read \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return bytes }
        bytes += chunk[..<count]
    }
}
