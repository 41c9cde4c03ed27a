import Foundation
import StreamKitFoundation

/// A client as written for Apple's platforms: two streams with one delegate, a queue of bytes to send, and a buffer of received
/// bytes. It sends its lines and ends when as many lines have come back.
final class LineClient: NSObject, StreamDelegate {
    private var input: InputStream?
    private var output: OutputStream?
    private var unsent: [UInt8]
    private var unread: [UInt8] = []
    private let expected: Int
    private(set) var lines: [String] = []
    private(set) var events: [String] = []
    private(set) var error: NSError?
    private(set) var isDone = false

    init(sending lines: [String]) {
        expected = lines.count
        unsent = Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    /// Connects, with properties for both streams, and runs the run loop until the client has finished.
    func run(host: String, port: Int, _ properties: [(Any, Stream.PropertyKey)] = []) {
        Stream.getStreamsToHost(withName: host, port: port, inputStream: &input, outputStream: &output)
        for (value, key) in properties where input?.setProperty(value, forKey: key) != true { return finish() }
        for stream in [input, output] as [Stream?] {
            stream?.delegate = self
            stream?.schedule(in: .current, forMode: .default)
            stream?.open()
        }
        while !isDone, RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60)) {}
    }

    func property(_ key: Stream.PropertyKey) -> AnyObject? { input?.property(forKey: key) }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        switch eventCode {
        case .openCompleted: events.append(aStream === input ? "input open" : "output open")
        case .hasSpaceAvailable: sendMore()
        case .hasBytesAvailable: receiveMore()
        case .errorOccurred:
            error = error ?? aStream.streamError as NSError?
            finish()
        case .endEncountered: finish()
        default: break
        }
    }

    private func sendMore() {
        guard let output, !unsent.isEmpty else { return }
        let count = output.write(unsent, maxLength: unsent.count)
        if count > 0 { unsent.removeFirst(count) }
    }

    private func receiveMore() {
        guard let input else { return }
        var buffer = [UInt8](repeating: 0, count: 512)
        while input.hasBytesAvailable {
            let count = input.read(&buffer, maxLength: buffer.count)
            if count <= 0 { break }
            unread += buffer[..<count]
        }
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: unread[..<end], as: UTF8.self))
            unread.removeSubrange(...end)
        }
        if lines.count >= expected { finish() }
    }

    private func finish() {
        isDone = true
        for stream in [input, output] as [Stream?] {
            stream?.delegate = nil
            stream?.remove(from: .current, forMode: .default)
            stream?.close()
        }
    }
}
