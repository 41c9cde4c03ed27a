import Foundation
import StreamKitFoundation

/// A delegate that records its events and their threads, and performs given actions.
final class EventRecorder: NSObject, StreamDelegate {
    private(set) var events: [String] = []
    private(set) var threads: Set<UInt> = []
    var reaction: (Stream, Stream.Event) -> Void

    init(_ reaction: @escaping (Stream, Stream.Event) -> Void = { _, _ in }) {
        self.reaction = reaction
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        let side = aStream is InputStream ? "in" : "out"
        let name =
            switch eventCode {
            case .openCompleted: "open"
            case .hasBytesAvailable: "bytes"
            case .hasSpaceAvailable: "space"
            case .errorOccurred: "error"
            case .endEncountered: "end"
            default: "\(eventCode.rawValue)"
            }
        events.append("\(side) \(name)")
        threads.insert(UInt(pthread_self()))
        reaction(aStream, eventCode)
    }

    func events(of side: String) -> [String] {
        events.filter { $0.hasPrefix("\(side) ") }.map { String($0.dropFirst(side.count + 1)) }
    }
}

extension InputStream {
    /// One read of at most `limit` bytes; nil for -1.
    func bytes(_ limit: Int = 4096) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = read(&buffer, maxLength: limit)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    /// Reads up to the end, blocking.
    func all() -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = bytes(), !bytes.isEmpty { all += bytes }
        return all
    }
}
