@testable import StreamKit

/// A scripted proxy in conversation with a machine: the bytes it must send, and the answers it gets.
struct Conversation: Sendable {
    enum Line: Sendable {
        /// The machine must send exactly these bytes.
        case client([UInt8])
        /// The proxy sends these bytes.
        case proxy([UInt8])
        /// The proxy closes the connection.
        case end
    }

    enum Outcome: Hashable {
        case established(String, surplus: [UInt8])
        case failed(StreamError)
        /// The machine did not follow the script.
        case mismatch(String)
    }

    var lines: [Line]

    /// The number of bytes that the proxy sends in all.
    var proxyByteCount: Int {
        lines.reduce(0) { if case .proxy(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    }

    /// Runs the script. The proxy's bytes arrive in pieces that end at the given offsets, counted over all of its bytes.
    func run(_ machine: any TunnelMachine, splitAt splits: Set<Int> = []) -> Outcome {
        var machine = machine
        var lines = lines[...]
        var pending: [UInt8] = []
        var offset = 0
        do throws(StreamError) {
            while true {
                switch try machine.next() {
                case .send(let bytes):
                    guard case .client(let expected)? = lines.popFirst(), expected == bytes else {
                        return .mismatch("sent \(bytes)")
                    }
                case .work: return .mismatch("asked for work")
                case .receive(let limit):
                    guard limit > 0 else { return .mismatch("asked for nothing") }
                    if pending.isEmpty {
                        switch lines.popFirst() {
                        case .proxy(let bytes)?: pending = bytes
                        case .end?:
                            try machine.receiveEnd()
                            continue
                        default: return .mismatch("asked for \(limit) bytes")
                        }
                    }
                    var count = min(limit, pending.count)
                    if let split = splits.filter({ $0 > offset && $0 < offset + count }).min() {
                        count = split - offset
                    }
                    offset += count
                    let piece = Array(pending[..<count])
                    pending.removeFirst(count)
                    try machine.receive(piece)
                case .established(let summary, let surplus):
                    // Bytes of the proxy beyond those asked for are the target's, and remain to be read.
                    guard lines.isEmpty else { return .mismatch("ended before \(lines)") }
                    return .established(summary, surplus: surplus + pending)
                }
            }
        } catch {
            return .failed(error)
        }
    }

    /// Runs the script whole, at every single split, and byte by byte. Returns the outcomes that occurred.
    func outcomes(_ machine: any TunnelMachine) -> Set<Outcome> {
        let count = proxyByteCount
        var outcomes: Set = [run(machine), run(machine, splitAt: Set(0...count))]
        for split in 0..<count { outcomes.insert(run(machine, splitAt: [split])) }
        return outcomes
    }
}
