/// The elements of a broadcast, from the creation of the sequence on. It never fails; an iterator ends with the broadcast, or if its task is
/// cancelled.
public struct BroadcastSequence<Element: Sendable, Owner: Sendable>: AsyncSequence, Sendable {
    /// The sequence never fails.
    public typealias Failure = Never

    private let readers: BroadcastReaders<Element>
    /// Kept alive for as long as the sequence is in use.
    private let owner: Owner

    /// Subscribes to the broadcast of an owner.
    @_spi(Packages) public init(_ broadcast: Broadcast<Element>, of owner: Owner) {
        readers = BroadcastReaders(broadcast)
        self.owner = owner
    }

    /// Makes an iterator. It returns the elements since the sequence was created; beside another iterator, those from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: readers.make(), owner: owner) }

    /// Returns the elements one by one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: BroadcastReaders<Element>.Reader
        fileprivate let owner: Owner

        /// Waits for the next element; nil at the end, or if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            try? await reader.mailbox.next()
        }

        /// Waits for the next element; nil at the end, or if the task is cancelled.
        public mutating func next() async -> Element? {
            try? await reader.mailbox.next()
        }
    }
}

/// The readers of one sequence of a broadcast's elements, each of which gets every element.
///
/// ```swift
/// let broadcast = Broadcast<Int> { Mailbox(limit: 64) }
/// let readers = BroadcastReaders(broadcast)                 // elements from now on
/// let (first, second) = (readers.make(), readers.make())
/// broadcast.send(7)                                         // 7 in first.mailbox, and in second.mailbox
/// ```
///
/// The first reader begins with the elements since the readers were created, and a reader that is made after its release continues where it
/// stopped. A reader that is made while another one exists begins with the elements from then on: a mailbox has one reader, and a second one
/// would take elements away from it.
@_spi(Packages) public final class BroadcastReaders<Element: Sendable>: Sendable {
    /// One reader, such as an iterator.
    public final class Reader: Sendable {
        /// The reader's elements.
        public let mailbox: Mailbox<Element>

        fileprivate init(_ mailbox: Mailbox<Element>) {
            self.mailbox = mailbox
        }
    }

    private struct State {
        /// The reader of the first mailbox.
        weak var reader: Reader?
    }

    private let broadcast: Broadcast<Element>
    private let first: Mailbox<Element>
    private let state = Locked(State())

    /// Subscribes to a broadcast.
    public init(_ broadcast: Broadcast<Element>) {
        self.broadcast = broadcast
        first = broadcast.subscribe()
    }

    /// Makes a reader, which lasts as long as the caller keeps it.
    public func make() -> Reader {
        let reader = state.withLock { state -> Reader? in
            guard state.reader == nil else { return nil }
            let reader = Reader(first)
            state.reader = reader
            return reader
        }
        return reader ?? Reader(broadcast.subscribe())
    }
}
