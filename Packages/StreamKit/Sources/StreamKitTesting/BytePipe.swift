public import StreamKit

/// One flow of bytes under test: what is written to ``output`` is read from ``input``.
public struct BytePipe: Sendable {
    /// Where bytes go in. Opened or not.
    public var output: WriteStream

    /// Where they come out. Opened or not.
    public var input: ReadStream

    /// Lets the reading side go, all of it (a connection ends when both of its halves are closed).
    public var leave: @Sendable () -> Void

    /// Ends the flow from the writing side: its sending direction, or all of it where there is no such thing.
    public var end: @Sendable () async throws(StreamError) -> Void

    /// Breaks the flow at the writing side, so that reading fails after what was delivered; nil if it cannot break.
    public var breakOff: (@Sendable () -> Void)?

    /// Kept alive with the pipe: the other halves.
    public var companions: [any Sendable]

    /// Names the two ends.
    public init(
        output: WriteStream, input: ReadStream, companions: [any Sendable] = [],
        leave: (@Sendable () -> Void)? = nil, end: (@Sendable () async throws(StreamError) -> Void)? = nil,
        breakOff: (@Sendable () -> Void)? = nil
    ) {
        self.output = output
        self.input = input
        self.companions = companions
        // Not `??`: a typed closure inside its autoclosure crashes the compiler (6.3.1).
        if let leave { self.leave = leave } else { self.leave = { input.close() } }
        if let end {
            self.end = end
        } else {
            self.end = { () async throws(StreamError) in try await output.finish() }
        }
        self.breakOff = breakOff
    }
}
