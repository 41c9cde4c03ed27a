/// One rule that every byte stream keeps; see ``ByteStreamContract``.
public enum ByteStreamRule: String, Sendable, CaseIterable {
    /// What is written comes out whole, in order, whatever the sizes of the pieces.
    case everyByteArrivesInOrder
    /// A read gives what is there and does not wait for more.
    case readsMayBeShort
    /// Nothing read means the end, nothing else does, and it stays the end.
    case zeroMeansTheEnd
    /// An empty buffer gives 0 at once and ends nothing.
    case emptyBufferIsNoEnd
    /// Not open, open, reading while a read waits, at end, closed.
    case statusTellsTheLife
    /// Before open and after close, calls say so; a stream is opened once.
    case wrongMomentsThrow
    /// A second reader or writer is refused, and the first goes on.
    case secondCallerIsBusy
    /// Questions and tries return at once, with nothing to read or no room.
    case triesNeverWait
    /// A writer is held back by a slow reader, and goes on when it reads.
    case slowReaderHoldsBack
    /// Closing from elsewhere ends a waiting call with "closed".
    case closeWakesWhoWaits
    /// A cancelled read took nothing.
    case cancelledReadTakesNothing
    /// A cancelled write fails the stream.
    case cancelledWriteFails
    /// A read out of time took nothing.
    case lateReadTakesNothing
    /// A write out of time fails the stream.
    case lateWriteFails
    /// A broken flow is an error after the bytes that were delivered, for good.
    case breakIsAnErrorAfterTheBytes
    /// Writing to a reader that has gone throws; it raises no signal.
    case writingToNobodyThrows
    /// Open-completed first and once; bytes, and the end once.
    case eventsComeInOrder
    /// Any order of naming a client, scheduling and opening gives the same events.
    case anyOrderOfPreparing
    /// Bytes are told once until a read.
    case bytesAreToldOncePerRead
    /// Room is told once until a write.
    case roomIsToldOncePerWrite
    /// Only the events that were asked for are told.
    case onlyWantedEvents
    /// A stream closed in its callback, by whatever event, tells no more.
    case closeInCallbackIsLast
    /// A callback may read to the end, waiting.
    case callbackMayReadToTheEnd
    /// A replaced client hears nothing more.
    case replacedClientIsSilent
    /// Scheduled, waiting and trying calls alternate on one stream.
    case stylesMix
    /// A stream that is dropped is closed.
    case droppingCloses

    /// The styles in which the rule says something of its own.
    public var styles: [StreamStyle] {
        switch self {
        case .everyByteArrivesInOrder, .readsMayBeShort, .zeroMeansTheEnd, .breakIsAnErrorAfterTheBytes,
            .slowReaderHoldsBack, .writingToNobodyThrows:
            StreamStyle.allCases
        case .closeWakesWhoWaits, .statusTellsTheLife, .secondCallerIsBusy, .lateReadTakesNothing, .lateWriteFails:
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
