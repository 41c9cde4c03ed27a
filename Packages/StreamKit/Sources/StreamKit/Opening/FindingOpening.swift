internal import EventLoops
internal import HostResolver

/// Opens a connection whose place has to be found first; then it is opened as any other.
struct FindingOpening: OpeningWork {
    /// What was found, put there by the finder's handler.
    private final class Answer: Sendable {
        let bell: WaitPoint
        private let result = Locked<Result<FoundPlace, StreamError>?>(nil)

        init(loop: EventLoop) { bell = WaitPoint(loop: loop) }

        func put(_ found: Result<FoundPlace, StreamError>) {
            result.withLock { $0 = found }
            bell.signal(.readable)
        }

        func take() -> Result<FoundPlace, StreamError>? { result.withLock { $0.take() } }
    }

    private struct Search {
        let answer: Answer
        let token: LookupToken
        let step: Int
        /// When opening must be over, if the user said so.
        let deadline: Moment?
    }

    private let finder: any PlaceFinder
    private var search: Search?
    private var place: FoundPlace?
    private var connector: StreamConnector?

    init(_ finder: any PlaceFinder) {
        self.finder = finder
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        if connector != nil { return try connect(connection) }
        let search = search ?? begin(connection)
        self.search = search
        switch search.answer.take() {
        case .success(let place):
            let count = place.addresses.count
            connection.endStep(search.step, .succeeded(count == 1 ? "1 address" : "\(count) addresses"))
            var properties = connection.details.withLock { details in
                details.properties[.remoteHostName] = place.name
                return details.properties
            }
            if let deadline = search.deadline {
                properties[.openLimit] = max(.milliseconds(1), Moment.now.duration(to: deadline))
            }
            self.place = place
            let endpoint = Endpoint.addresses(place.addresses, name: place.name)
            connector = StreamConnector(ConnectPlan(to: endpoint, properties))
            return try connect(connection)
        case .failure(let error):
            connection.endStep(search.step, .failed(error))
            throw error
        case nil:
            if let deadline = search.deadline, deadline <= .now {
                search.token.cancel()
                let error = StreamError(posix: 110, .openTimedOut("looking for \(finder.description)"))  // ETIMEDOUT
                connection.endStep(search.step, .failed(error))
                throw error
            }
            let bell = WaitPoint.Place(search.answer.bell, .reader, for: .readable)
            return .wait(.init(places: [bell], deadline: search.deadline))
        }
    }

    mutating func abandon(_ connection: Connection) {
        search?.token.cancel()
        connector?.abandon(connection)
    }

    private func begin(_ connection: Connection) -> Search {
        let limit = connection.details.withLock { $0.properties.value(named: StreamProperty<Duration>.openLimit.name) }
        let step = connection.beginStep(.lookup(finder.description))
        let answer = Answer(loop: connection.point.loop)
        let token = finder.start { answer.put($0) }
        return Search(answer: answer, token: token, step: step, deadline: (limit as? Duration).map { .now + $0 })
    }

    private mutating func connect(_ connection: Connection) throws(StreamError) -> OpeningStep {
        do throws(StreamError) {
            guard let step = try connector?.advance(connection) else { throw .closed }
            return step
        } catch {
            if let place, connector?.hasConnected == false { finder.couldNotConnect(to: place) }
            throw error
        }
    }
}

extension Connection {
    /// A connection whose place is found at open.
    convenience init(finder: any PlaceFinder, _ properties: StreamProperties, loop: EventLoop) {
        self.init(point: WaitPoint(loop: loop)) { _ throws(StreamError) in .continues(FindingOpening(finder)) }
        details.withLock { $0.properties = properties }
        setLimit(properties[.readLimit], .reader)
        setLimit(properties[.writeLimit], .writer)
    }
}
