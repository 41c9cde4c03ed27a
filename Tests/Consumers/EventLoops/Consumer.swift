import EventLoops
import Glibc

/// Waits on the event loop for words that a timer puts into a socket.
@main struct Consumer {
    static func main() async {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { fatalError("errno \(errno)") }
        let (input, output) = (ends[0], ends[1])

        let timer = EventLoop.shared.schedule(at: .now + .milliseconds(20)) {
            let words = "hello from the other end"
            _ = words.withCString { write(output, $0, strlen($0)) }
            close(output)
        }
        let heard = await withNetworkExecutor { await readAll(from: input) }
        print("the loop read '\(String(decoding: heard, as: UTF8.self))'")
        timer.cancel()
    }

    /// Reads until the other end closes, and closes the descriptor.
    static func readAll(from descriptor: CInt) async -> [UInt8] {
        let point = WaitPoint(descriptor: descriptor, ownership: .owned)
        defer { point.close() }
        guard point.enter(.reader) == .entered else { return [] }
        defer { point.leave(.reader) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                bytes += buffer[..<count]
            } else if count < 0, errno == EAGAIN {
                guard await point.readerWait(for: .readable, until: nil) == .ready else { return bytes }
            } else {
                return bytes
            }
        }
    }
}
