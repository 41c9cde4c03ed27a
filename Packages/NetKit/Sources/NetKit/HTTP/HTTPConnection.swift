internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// One connection to a server, and what has been received on it.
final class HTTPConnection: @unchecked Sendable {
    // Unchecked: it has one owner at a time, who uses it inside a lock: the load that took or made it, or the pool; or the
    // thread to which the load has lent it. So no two accesses can overlap, and looking for that at each of them would
    // cost more than many of them do.

    /// 16 KiB: a head and a small body in one read; large bodies are read past it.
    static let bufferSize = 16 * 1024

    let pair: StreamPair
    let key: HTTPConnectionKey
    /// The proxy where it ends, if it does not lead to the origin itself.
    let proxy: HTTPProxy?
    @exclusivity(unchecked) var buffer = ReceiveBuffer(capacity: HTTPConnection.bufferSize)
    /// At the start of a head.
    @exclusivity(unchecked) private var parser: HeadParser
    /// Of the head that was found.
    @exclusivity(unchecked) private var headLength = 0
    /// How many requests it has carried before this one.
    @exclusivity(unchecked) var requests = 0
    /// When something was last received.
    @exclusivity(unchecked) private(set) var lastRead = Moment.now
    /// That read gave all that the socket had; known of plain TCP only.
    @exclusivity(unchecked) var isDrained = false
    /// When the last one ended.
    @exclusivity(unchecked) var idleSince = Moment.now

    init(pair: StreamPair, key: HTTPConnectionKey, limits: HTTPLimits, proxy: HTTPProxy? = nil) {
        self.pair = pair
        self.key = key
        self.proxy = proxy
        parser = HeadParser(.response, limits: limits, leniency: .client)
    }

    /// Makes it ready for another request, whose answer may be as large as this.
    func accept(_ limits: HTTPLimits) {
        if parser.limits == limits { return parser.reset() }
        parser = HeadParser(.response, limits: limits, leniency: .client)
    }

    /// Looks for a head at the front of the buffer; false for more bytes.
    func findHead() throws(StreamError) -> Bool {
        do throws(HTTPMessageError) {
            let progress = try buffer.withBytes { (bytes) throws(HTTPMessageError) in try parser.parse(bytes) }
            guard case .complete(let length) = progress else { return false }
            headLength = length
            return true
        } catch {
            throw StreamError(error)
        }
    }

    /// Takes the head that was found out of the buffer, as what this URL answers.
    func takeHead(from url: URL?) throws(StreamError) -> HTTPResponse {
        do throws(HTTPMessageError) {
            var head = try buffer.withBytes { (bytes) throws(HTTPMessageError) in
                try parser.makeResponse(from: bytes)
            }
            buffer.remove(headLength)
            parser.reset()
            head.url = url
            return head
        } catch {
            throw StreamError(error)
        }
    }

    /// Reads more into the buffer: how many bytes, 0 at the end, nil if there are none now; with `waits` it waits for some.
    func fill(waits: Bool = false) throws(StreamError) -> Int? {
        let count = try buffer.fill(from: pair.input, waits: waits)
        lastRead = .now
        isDrained = key.isPlain && buffer.hasRoom
        return count
    }

    /// Waits on the calling thread until there is something to read, in the buffer with `fills`.
    ///
    /// - Returns: what the wait ended with, if not with something to read. A failure of the connection is met again by the
    ///   next try to read; one of the wait alone, such as for lack of descriptors, is not.
    func waitForInput(fills: Bool) -> StreamError? {
        do throws(StreamError) {
            if fills { _ = try fill(waits: true) } else { try pair.input.ready() }
            return nil
        } catch {
            return error
        }
    }

    /// True if it has carried a request before, and the server may have given it up meanwhile.
    var isReused: Bool { requests > 0 }

    /// True if it can carry another request: open, quiet, nothing left over.
    ///
    /// What a server sends unasked, an end or an answer to nothing, must not be taken for the answer to the next request.
    /// So the socket is looked at, which costs a system call; but not if a read has emptied it within the time `trust`
    /// before `now`.
    func isIdle(_ now: Moment, trusting trust: Duration = .zero) -> Bool {
        guard buffer.isEmpty, pair.output.status == .open, pair.input.status == .open else { return false }
        if isDrained, lastRead.duration(to: now) < trust { return true }
        return !pair.input.hasBytesAvailable
    }
}
