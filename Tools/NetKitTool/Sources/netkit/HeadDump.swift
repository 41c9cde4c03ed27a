import Glibc
import NetKit

/// The file of -D: the heads of all responses of a command, written at its end; `-` is standard output, at once.
final class HeadDump: Sendable {
    private let path: String
    private let bytes = Locked<[UInt8]>([])

    init(path: String) { self.path = path }

    func append(_ heads: [UInt8]) {
        guard path == "-" else { return bytes.withLock { $0 += heads } }
        let text = String(decoding: heads, as: UTF8.self).replacing("\r\n", with: "\n")
        Terminal.write(ShownText(lines: text), to: STDOUT_FILENO)
    }

    /// Writes the file.
    func save() throws(OutputFile.Failure) {
        let bytes = bytes.withLock(\.self)
        if path != "-" { try OutputFile.write(bytes.span.bytes, to: path) }
    }
}
