@testable import StreamKit

/// Talks to a machine as a scripted proxy: what it must say, and what it is told.
struct Conversation: Sendable {
    enum Line: Sendable {
        /// The machine says exactly this.
        case client([UInt8])
        /// The proxy says this.
        case proxy([UInt8])
        /// The proxy closes the connection.
        case end
    }

    enum Outcome: Hashable {
        case established(String, surplus: [UInt8])
        case failed(StreamError)
        /// The script did not fit what the machine did.
        case strayed(String)
    }

    var lines: [Line]

    /// How many bytes the proxy says in all.
    var proxyByteCount: Int {
        lines.reduce(0) { if case .proxy(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    }

    /// Runs it. The proxy's bytes arrive in pieces that end at the given offsets, counted over all that it says.
    func run(_ machine: any TunnelMachine, splitAt splits: Set<Int> = []) -> Outcome {
        var machine = machine
        var lines = lines[...]
        var said: [UInt8] = []
        var offset = 0
        do throws(StreamError) {
            while true {
                switch try machine.next() {
                case .send(let bytes):
                    guard case .client(let expected)? = lines.popFirst(), expected == bytes else {
                        return .strayed("said \(bytes)")
                    }
                case .work: return .strayed("wanted work done")
                case .receive(let limit):
                    guard limit > 0 else { return .strayed("asked for nothing") }
                    if said.isEmpty {
                        switch lines.popFirst() {
                        case .proxy(let bytes)?: said = bytes
                        case .end?:
                            try machine.receiveEnd()
                            continue
                        default: return .strayed("waits for \(limit) bytes")
                        }
                    }
                    var count = min(limit, said.count)
                    if let split = splits.filter({ $0 > offset && $0 < offset + count }).min() {
                        count = split - offset
                    }
                    offset += count
                    let piece = Array(said[..<count])
                    said.removeFirst(count)
                    try machine.receive(piece)
                case .established(let summary, let surplus):
                    // What the proxy said beyond what was asked for is the target's, and still there to read.
                    guard lines.isEmpty else { return .strayed("ended before \(lines)") }
                    return .established(summary, surplus: surplus + said)
                }
            }
        } catch {
            return .failed(error)
        }
    }

    /// Runs it whole, at every single split, and byte by byte; gives the outcomes that occurred.
    func outcomes(_ machine: any TunnelMachine) -> Set<Outcome> {
        let count = proxyByteCount
        var outcomes: Set = [run(machine), run(machine, splitAt: Set(0...count))]
        for split in 0..<count { outcomes.insert(run(machine, splitAt: [split])) }
        return outcomes
    }
}
