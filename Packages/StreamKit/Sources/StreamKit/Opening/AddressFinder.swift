@_spi(Packages) public import EventLoops
public import HostResolver

/// Finds the address of a stream when it opens: that of a discovered service, a registry entry, or the next server of a
/// group.
///
/// ```swift
/// let pair = StreamPair(finder: ServerOfTheDay())
/// try pair.open()          // starts the search; reads and writes wait for it
/// ```
///
/// A search has no time limit of its own. ``StreamProperty/openTimeout`` covers searching and connecting together.
public protocol AddressFinder: Sendable {
    /// What is searched for, for reports and messages.
    var description: String { get }

    /// Starts the search and returns at once. `handler` receives the result, on any thread.
    ///
    /// It is called once. After a result that is not complete (``FoundAddresses/isComplete``), it is called again, with all
    /// addresses, whenever there are more.
    ///
    /// - Returns: cancels the search; must not wait. Called when the stream is closed.
    func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken

    /// Called if none of the addresses of a result could be connected to, so that the finder need not return them again.
    /// Must not wait. Not called if a TLS handshake fails, since a server answered there. By default it does nothing.
    func couldNotConnect(to found: FoundAddresses)
}

extension AddressFinder {
    /// Does nothing.
    public func couldNotConnect(to found: FoundAddresses) {}
}

/// The addresses and the name of the server that a stream connects to.
public struct FoundAddresses: Sendable, Hashable {
    /// The addresses, tried as RFC 8305 describes.
    public var addresses: [SocketAddress]
    /// The host name, for TLS; nil if the server has none.
    public var name: String?
    /// False if more addresses may follow. If none of the present ones can be connected to, the stream waits for more,
    /// for at most five seconds, and tries at most 64 addresses in all.
    public var isComplete: Bool

    /// Makes a value from its parts.
    public init(addresses: [SocketAddress], name: String?, isComplete: Bool = true) {
        self.addresses = addresses
        self.name = name
        self.isComplete = isComplete
    }
}

extension StreamPair {
    /// Makes a connection whose addresses `finder` finds when it opens. It is direct and never uses a proxy.
    public init(
        finder: some AddressFinder, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(finder: finder, properties, loop: loop))
    }
}

/// Opens a connection whose addresses an ``AddressFinder`` finds first.
struct FinderOpening: OpeningWork {
    private struct Search {
        /// The finder's latest answer.
        let answers: Mailbox<Result<FoundAddresses, StreamError>>
        let token: LookupToken
        let step: Int
        /// The instant when opening must end; nil for no limit.
        let deadline: Moment?
    }

    /// An attempt in which no address could be connected to, while more addresses may come.
    private struct FailedAttempt {
        let error: StreamError
        let end: Moment
    }

    /// How long further addresses are awaited and tried after that.
    static let retryPeriod: Duration = .seconds(5)
    /// The most addresses tried if the first ones cannot be connected to and more come.
    static let maximumAddresses = 64

    private let finder: any AddressFinder
    private let retryPeriod: Duration
    private var search: Search?
    private var found: FoundAddresses?
    private var tried: Set<SocketAddress> = []
    private var connector: StreamConnector?
    private var failedAttempt: FailedAttempt?

    init(_ finder: any AddressFinder, retryPeriod: Duration = FinderOpening.retryPeriod) {
        self.finder = finder
        self.retryPeriod = retryPeriod
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        let search = search ?? begin(connection)
        self.search = search
        do throws(StreamError) {
            while true {
                var step = try connect(connection)
                if step == nil { step = try takeAnswer(of: search, connection) }
                guard let step else { continue }
                if case .opened = step { search.token.cancel() }
                return step
            }
        } catch {
            search.token.cancel()
            throw error
        }
    }

    /// Continues connecting; nil if there is no address to connect to.
    private mutating func connect(_ connection: Connection) throws(StreamError) -> OpeningStep? {
        do throws(StreamError) {
            return try connector?.advance(connection)
        } catch {
            guard let found, connector?.hasConnected == false else { throw error }
            guard !found.isComplete, search?.deadline.map({ $0 > .now }) ?? true else {
                finder.couldNotConnect(to: found)
                throw error
            }
            connector = nil
            failedAttempt = FailedAttempt(error: error, end: failedAttempt?.end ?? .now + retryPeriod)
            return nil
        }
    }

    /// Takes the finder's answer; nil if there are new addresses to connect to.
    private mutating func takeAnswer(of search: Search, _ connection: Connection) throws(StreamError) -> OpeningStep? {
        switch search.answers.tryNext() {
        case .success(let found):
            if self.found == nil {
                let count = found.addresses.count
                connection.endStep(search.step, .succeeded(count == 1 ? "1 address" : "\(count) addresses"))
            }
            self.found = found
            let newAddresses = found.addresses.filter { !tried.contains($0) }
            if let failedAttempt {
                // A finder may announce new addresses endlessly, as any host on a link can do: limit time and number.
                let isTooMuch = failedAttempt.end <= .now || tried.count + newAddresses.count > Self.maximumAddresses
                if newAddresses.isEmpty ? found.isComplete : isTooMuch { throw giveUp(found, failedAttempt) }
                if newAddresses.isEmpty { return nil }
            }
            tried.formUnion(newAddresses)
            connector = StreamConnector(plan(for: found, newAddresses, search, connection))
            return nil
        case .failure(let error):
            if let failedAttempt, let found { throw giveUp(found, failedAttempt) }
            connection.endStep(search.step, .failed(error))
            throw error
        case nil:
            let deadline = [search.deadline, failedAttempt?.end].compactMap(\.self).min()
            if let deadline, deadline <= .now {
                if let failedAttempt, let found { throw giveUp(found, failedAttempt) }
                let error = StreamError(posix: 110, .openTimedOut("looking for \(finder.description)"))  // ETIMEDOUT
                connection.endStep(search.step, .failed(error))
                throw error
            }
            let point = WaitPoint.Readiness(search.answers.point, .reader, for: .readable)
            return .wait(.init(points: [point], deadline: deadline))
        }
    }

    private func giveUp(_ found: FoundAddresses, _ failedAttempt: FailedAttempt) -> StreamError {
        finder.couldNotConnect(to: found)
        return failedAttempt.error
    }

    private func plan(
        for found: FoundAddresses, _ addresses: [SocketAddress], _ search: Search, _ connection: Connection
    ) -> ConnectPlan {
        var properties = connection.withDetails { details in
            details.properties[.remoteHostName] = found.name
            return details.properties
        }
        if let deadline = search.deadline {
            properties[.openTimeout] = max(.milliseconds(1), Moment.now.duration(to: deadline))
        }
        return ConnectPlan(to: .addresses(addresses, name: found.name), properties, isLast: found.isComplete)
    }

    mutating func abandon(_ connection: Connection) {
        search?.token.cancel()
        connector?.abandon(connection)
    }

    private func begin(_ connection: Connection) -> Search {
        let limit = connection.withDetails { $0.properties[.openTimeout] } ?? .zero
        let step = connection.beginStep(.lookup(finder.description))
        let answers = Mailbox<Result<FoundAddresses, StreamError>>(merging: { $0 = $1 }, loop: connection.point.loop)
        let token = finder.start { answers.put($0) }
        return Search(answers: answers, token: token, step: step, deadline: limit > .zero ? .now + limit : nil)
    }
}

extension Connection {
    /// A connection whose addresses are found when it opens.
    convenience init(
        finder: any AddressFinder, _ properties: StreamProperties, loop: EventLoop,
        retryPeriod: Duration = FinderOpening.retryPeriod
    ) {
        self.init(.found, point: WaitPoint(loop: loop), properties) { _ throws(StreamError) in
            .continues(FinderOpening(finder, retryPeriod: retryPeriod))
        }
    }
}
