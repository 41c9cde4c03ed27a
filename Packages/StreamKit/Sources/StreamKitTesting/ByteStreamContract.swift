public import StreamKit

/// The contract of byte streams, as a test suite for any implementation.
///
/// ```swift
/// import StreamKitTesting
/// import Testing
///
/// @Test(arguments: ByteStreamRule.allCases)
/// func keepsTheContract(_ rule: ByteStreamRule) async throws {
///     let contract = ByteStreamContract { try await myPipe() }
///     try await contract.check(rule)
/// }
/// ```
///
/// Each rule is checked in every ``StreamStyle`` to which it applies, on a new pipe each time. A broken rule throws a
/// ``ContractViolation``. A stream that hangs makes the test hang, so give it a time limit.
public struct ByteStreamContract: Sendable {
    let makePipe: @Sendable () async throws -> BytePipe

    /// The most bytes that the pipe may hold between writer and reader; nil if there is no bound.
    let bound: Int?

    /// Makes the suite for one kind of pipe.
    ///
    /// - Parameters:
    ///   - bound: more bytes than the pipe can hold between writer and reader. Nil if it can hold any number; the rules
    ///     about writers that wait are then omitted.
    ///   - makePipe: makes a new pipe.
    public init(
        bound: Int? = 64 << 20, _ makePipe: @escaping @Sendable () async throws -> BytePipe
    ) {
        self.bound = bound
        self.makePipe = makePipe
    }

    /// Checks a rule in every style to which it applies.
    ///
    /// - Throws: ``ContractViolation``, and any error of `makePipe`.
    public func check(_ rule: ByteStreamRule) async throws {
        for style in rule.styles { try await check(rule, style) }
    }

    /// Checks a rule in one style.
    ///
    /// - Throws: ``ContractViolation``, and any error of `makePipe`.
    public func check(_ rule: ByteStreamRule, _ style: StreamStyle) async throws {
        let pipe = try await makePipe()
        let trial = ContractTrial(rule: rule, style: style, pipe: pipe, bound: bound)
        do {
            try await run(trial)
        } catch let error as StreamError {
            throw ContractViolation(rule: rule, style: style, observation: "threw \(error.debugDescription)")
        }
        pipe.output.close()
        pipe.leave()
        withExtendedLifetime(pipe) {}
    }

    private func run(_ trial: ContractTrial) async throws {
        switch trial.rule {
        case .everyByteArrivesInOrder: try await trial.everyByteArrivesInOrder()
        case .readsMayBeShort: try await trial.readsMayBeShort()
        case .zeroMeansTheEnd: try await trial.zeroMeansTheEnd()
        case .emptyBufferIsNoEnd: try await trial.emptyBufferYieldsZero()
        case .statusTellsTheLife: try await trial.statusFollowsTheLifeCycle()
        case .wrongMomentsThrow: try await trial.wrongStatesThrow()
        case .secondCallerIsBusy: try await trial.secondCallerIsBusy()
        case .triesNeverWait: try await trial.triesNeverWait()
        case .slowReaderHoldsBack: try await trial.slowReaderHoldsBack()
        case .closingWakesWaitingCalls: try await trial.closingWakesWaitingCalls()
        case .cancelledReadTakesNothing: try await trial.cancelledReadConsumesNothing()
        case .cancelledWriteFails: try await trial.cancelledWriteFails()
        case .lateReadTakesNothing: try await trial.lateReadConsumesNothing()
        case .lateWriteFails: try await trial.lateWriteFails()
        case .breakIsAnErrorAfterTheBytes: try await trial.breakIsAnErrorAfterTheBytes()
        case .writingWithoutReaderThrows: try await trial.writingWithoutReaderThrows()
        case .eventsComeInOrder: try await trial.eventsComeInOrder()
        case .anyOrderOfPreparing: try await trial.anyOrderOfPreparing(makePipe)
        case .bytesAreToldOncePerRead: try await trial.bytesAreReportedOncePerRead()
        case .roomIsToldOncePerWrite: try await trial.roomIsReportedOncePerWrite()
        case .onlyWantedEvents: try await trial.onlyWantedEvents()
        case .closeInCallbackIsLast: try await trial.closeInCallbackIsLast(makePipe)
        case .callbackMayReadToTheEnd: try await trial.callbackMayReadToTheEnd()
        case .replacedClientIsSilent: try await trial.replacedClientIsSilent()
        case .stylesMix: try await trial.stylesAlternate()
        case .droppingCloses: try await trial.releasingCloses(makePipe)
        }
    }
}

/// A rule that every byte stream obeys; see ``ByteStreamContract``.
public enum ByteStreamRule: String, Sendable, CaseIterable {
    /// All bytes written arrive, in order, whatever the sizes of the pieces.
    case everyByteArrivesInOrder
    /// A read returns the available bytes and does not wait for more.
    case readsMayBeShort
    /// A read of 0 bytes means the end and nothing else does; later reads return 0, too.
    case zeroMeansTheEnd
    /// A read into an empty buffer returns 0 at once and does not end the stream.
    case emptyBufferIsNoEnd
    /// The status is, in this order: not open, open, reading (while a read waits), at end, closed.
    case statusTellsTheLife
    /// Calls before open and after close throw; a stream can be opened only once.
    case wrongMomentsThrow
    /// A second reader or writer is refused, and the first continues.
    case secondCallerIsBusy
    /// Polling calls return at once if there is nothing to read or no room.
    case triesNeverWait
    /// A writer waits for a slow reader, and continues when it reads.
    case slowReaderHoldsBack
    /// Closing from another thread or task ends a waiting call with "closed".
    case closingWakesWaitingCalls
    /// A cancelled read consumes nothing.
    case cancelledReadTakesNothing
    /// A cancelled write fails the stream.
    case cancelledWriteFails
    /// A read that times out consumes nothing.
    case lateReadTakesNothing
    /// A write that times out fails the stream.
    case lateWriteFails
    /// A broken pipe first delivers the bytes already sent, then fails permanently.
    case breakIsAnErrorAfterTheBytes
    /// Writing without a reader throws, and does not raise SIGPIPE.
    case writingWithoutReaderThrows
    /// The open event comes first and once, then bytes, then the end once.
    case eventsComeInOrder
    /// Setting the client, scheduling and opening yield the same events in any order.
    case anyOrderOfPreparing
    /// Available bytes are reported once per read.
    case bytesAreToldOncePerRead
    /// Room is reported once per write.
    case roomIsToldOncePerWrite
    /// Only the requested events are delivered.
    case onlyWantedEvents
    /// A stream closed in its callback, at any event, delivers no further event.
    case closeInCallbackIsLast
    /// A callback may read to the end with calls that wait.
    case callbackMayReadToTheEnd
    /// A replaced client receives no further event.
    case replacedClientIsSilent
    /// Scheduled, waiting and polling calls alternate on one stream.
    case stylesMix
    /// A stream that is released is closed.
    case droppingCloses

    /// The styles to which the rule applies.
    public var styles: [StreamStyle] {
        switch self {
        case .everyByteArrivesInOrder, .readsMayBeShort, .zeroMeansTheEnd, .breakIsAnErrorAfterTheBytes,
            .slowReaderHoldsBack, .writingWithoutReaderThrows:
            StreamStyle.allCases
        case .closingWakesWaitingCalls, .statusTellsTheLife, .secondCallerIsBusy, .lateReadTakesNothing,
            .lateWriteFails:
            [.blocking, .async]
        case .cancelledReadTakesNothing, .cancelledWriteFails, .emptyBufferIsNoEnd, .wrongMomentsThrow,
            .triesNeverWait, .droppingCloses:
            [.async]
        case .eventsComeInOrder, .anyOrderOfPreparing, .bytesAreToldOncePerRead, .roomIsToldOncePerWrite,
            .onlyWantedEvents, .closeInCallbackIsLast, .replacedClientIsSilent, .stylesMix:
            [.queue, .loop]
        case .callbackMayReadToTheEnd:
            [.queue]
        }
    }
}

/// A broken rule of ``ByteStreamContract``, with what was observed.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: ByteStreamRule

    /// The style in which the rule was broken.
    public let style: StreamStyle

    /// What was observed.
    public let observation: String

    /// Rule, style and observation.
    public var description: String { "\(rule.rawValue), \(style): \(observation)" }
}

/// The pipe under test: bytes written to ``output`` are read from ``input``.
public struct BytePipe: Sendable {
    /// The writing end. May be open or not.
    public var output: WriteStream

    /// The reading end. May be open or not.
    public var input: ReadStream

    /// Releases the entire reading side (a connection ends when both of its halves are closed).
    public var leave: @Sendable () -> Void

    /// Ends the writing side: the sending direction, or the whole pipe if that direction cannot be ended separately.
    public var end: @Sendable () async throws(StreamError) -> Void

    /// Breaks the pipe at the writing side, so that reading fails after the delivered bytes; nil if it cannot break.
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
