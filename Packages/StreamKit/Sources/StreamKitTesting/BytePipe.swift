public import StreamKit

/// A flow of bytes under test: bytes written to ``output`` are read from ``input``.
public struct BytePipe: Sendable {
    /// The writing end. May be open or not.
    public var output: WriteStream

    /// The reading end. May be open or not.
    public var input: ReadStream

    /// Releases the entire reading side (a connection ends when both of its halves are closed).
    public var leave: @Sendable () -> Void

    /// Ends the flow from the writing side: the sending direction, or everything if it cannot be ended separately.
    public var end: @Sendable () async throws(StreamError) -> Void

    /// Breaks the flow at the writing side, so that reading fails after the delivered bytes; nil if the flow cannot
    /// break.
    public var breakOff: (@Sendable () -> Void)?

    /// Objects to keep alive with the pipe, such as the other halves.
    public var companions: [any Sendable]

    /// Makes a pipe from its two ends.
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
