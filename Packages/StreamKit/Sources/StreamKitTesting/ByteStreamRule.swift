/// A rule that every byte stream obeys; see ``ByteStreamContract``.
public enum ByteStreamRule: String, Sendable, CaseIterable {
    /// All bytes written arrive, in order, whatever the sizes of the pieces.
    case everyByteArrivesInOrder
    /// A read returns the available bytes and does not wait for more.
    case readsMayBeShort
    /// A read of 0 bytes means the end and nothing else does; later reads return 0, too.
    case zeroMeansTheEnd
    /// An empty buffer yields 0 at once and ends nothing.
    case emptyBufferIsNoEnd
    /// The status is not open, open, reading while a read waits, at end, closed.
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
    case closeWakesWhoWaits
    /// A cancelled read consumes nothing.
    case cancelledReadTakesNothing
    /// A cancelled write fails the stream.
    case cancelledWriteFails
    /// A read that times out consumes nothing.
    case lateReadTakesNothing
    /// A write that times out fails the stream.
    case lateWriteFails
    /// A broken flow delivers its bytes first, then fails permanently.
    case breakIsAnErrorAfterTheBytes
    /// Writing without a reader throws and raises no signal.
    case writingToNobodyThrows
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
