@_spi(Packages) internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// The state of a load in its loop over hops, with the data of the current one.
enum LoadState: Sendable {
    /// The load has not begun: its settings may change.
    case unopened
    /// The route of the request is being decided, and a connection is looked for.
    case deciding
    /// As ``deciding``, but connections are not reused: the server may have closed a reused one while it was idle.
    case redialing
    /// The load waits until it can decide about a connection again.
    indirect case standingBy(Standby)
    /// The connection is being opened. The request is written only afterwards, because the connection determines how.
    case opening(HTTPConnection)
    /// The request is being sent, and the head of the response received.
    case exchanging(any HTTPCarrier)
    /// The body of the response is being read.
    case receiving(any HTTPCarrier)
    /// A response that leads to another request is being dropped.
    indirect case discarding(Discard)
    /// The connection carries another protocol, and belongs to the first caller that takes it; see ``HTTPLoad/takeSwitched()``.
    case switched(any HTTPCarrier)
    /// A proxy has refused a tunnel, and its response is the result.
    case refused(HTTPResponse)
    /// The body has been read to its end.
    case finished(any HTTPCarrier)
    /// The load has failed or was closed. The carrier, if there was one, still tells what was sent and received.
    case abandoned((any HTTPCarrier)?)

    /// Whether the load has begun.
    var isOpened: Bool { if case .unopened = self { false } else { true } }

    /// Whether the request is being or has been sent.
    var isRequestUnderway: Bool {
        switch self {
        case .unopened, .deciding, .redialing, .standingBy, .opening: false
        case .exchanging(let carrier): !carrier.isSending || carrier.bytesSent > 0
        case .receiving, .discarding, .switched, .refused, .finished, .abandoned: true
        }
    }

    /// Whether the head of the final response has arrived.
    var isAtBody: Bool {
        switch self {
        case .unopened, .deciding, .redialing, .standingBy, .opening, .exchanging, .discarding: false
        case .receiving, .switched, .refused, .finished, .abandoned: true
        }
    }

    /// Whether the body has been read to its end.
    var hasDeliveredBody: Bool {
        switch self {
        case .finished, .refused: true
        case .unopened, .deciding, .redialing, .standingBy, .opening, .exchanging, .receiving, .discarding, .switched,
            .abandoned:
            false
        }
    }

    /// The carrier of the current request, or of the last one.
    var carrier: (any HTTPCarrier)? {
        switch self {
        case .unopened, .deciding, .redialing, .standingBy, .opening, .refused: nil
        case .exchanging(let carrier), .receiving(let carrier), .switched(let carrier), .finished(let carrier): carrier
        case .discarding(let discard): discard.carrier
        case .abandoned(let carrier): carrier
        }
    }

    /// The connection that the load uses now.
    var connection: HTTPConnection? {
        if case .opening(let connection) = self { connection } else { carrier?.connection }
    }

    /// The streams of the connection, unless it ends at a proxy, whose TLS is not that of the origin.
    var pairToOrigin: StreamPair? { connection.flatMap { $0.endsAtProxy ? nil : $0.pair } }

    /// The point at which to wait for the connection.
    var waitPoint: WaitPoint? {
        switch self {
        case .opening(let connection): connection.pair.input.waitPoint
        case .exchanging(let carrier), .receiving(let carrier), .switched(let carrier), .finished(let carrier):
            carrier.waitPoint
        case .discarding(let discard): discard.carrier.waitPoint
        case .abandoned(let carrier): carrier?.waitPoint
        case .standingBy(let standby): standby.point
        case .unopened, .deciding, .redialing, .refused: nil
        }
    }

    /// Where to wait for what a load needs, with the point of a decision about its proxy; nowhere if a step only ended its turn.
    func places(for need: Need, decision: WaitPoint?) -> (WaitPoint.Readiness?, WaitPoint.Readiness?) {
        func place(_ point: WaitPoint?) -> WaitPoint.Readiness? { point.map { .init($0, .reader, for: need.interest) } }
        switch need {
        case .decision: return (place(decision), nil)
        case .room, .input, .permission, .standby: return (place(waitPoint), nil)
        case .source:
            guard let source = carrier?.sourcePoint else { return (nil, nil) }
            return (place(waitPoint), place(source))
        case .turn, .bodyReading: return (nil, nil)
        }
    }

    /// The head of the response, even of one that leads to another request.
    var response: HTTPResponse? { if case .refused(let response) = self { response } else { carrier?.response } }

    /// Returns the head of the final response.
    ///
    /// - Parameter request: the current request.
    func finalResponse(to request: HTTPRequest) -> HTTPResponse? {
        switch self {
        case .discarding: return nil
        case .refused(let response): return response  // it comes from the proxy
        case .unopened, .deciding, .redialing, .standingBy, .opening, .exchanging, .receiving, .switched, .finished,
            .abandoned:
            var response = carrier?.response
            response?.setURL(of: request)
            return response
        }
    }

    /// The current activity, for messages.
    ///
    /// - Parameters:
    ///   - need: what the load waits for.
    ///   - awaitsScript: whether a proxy script has been started for the URL.
    func activity(_ need: Need?, awaitsScript: Bool) -> String {
        switch self {
        case .unopened, .deciding, .redialing, .standingBy:
            awaitsScript ? "waiting for the proxy script" : "connecting"
        case .opening(let connection):
            switch connection.pair.report.steps.last(where: { $0.outcome == .underway })?.kind {
            case .lookup(let name): "looking up \(name)"
            case .proxy(let kind, let address): "connecting through the \(kind) proxy \(address)"
            case .tls: "waiting for the TLS handshake"
            case .connect, .stream, .request, nil: "connecting"
            }
        case .exchanging(let carrier) where carrier.isSending: "sending the request"
        case .exchanging where need == .permission: "waiting for 100 (Continue)"
        case .exchanging: "waiting for the response"
        case .receiving, .discarding, .switched, .refused, .finished, .abandoned: "receiving the body"
        }
    }

    // MARK: Properties

    /// The last proxy's response to the request for a tunnel on this connection.
    var tunnelResponse: HTTPResponse? { connection?.pair[.httpProxyResponse] }

    /// The request as it was last sent.
    func finalRequest(to url: URL?) -> HTTPRequest? {
        url.flatMap { carrier?.sentRequest(at: $0) }
    }

    /// The number of bytes of the request's body that have been sent.
    var bodyBytesSent: Int64 { carrier?.bodyBytesSent ?? 0 }

    /// The length of the body as read, if the head declares it; nil otherwise.
    var bodyLength: Int64? {
        switch self {
        case .unopened, .deciding, .redialing, .standingBy, .opening, .exchanging, .discarding: nil
        case .refused: 0
        case .receiving, .switched, .finished, .abandoned: carrier?.response == nil ? nil : carrier?.bodyLength
        }
    }

    /// The content codings that the body has as it is read; nil if it has none.
    var remainingContentCoding: String? {
        guard let response, carrier?.isDecoding != true else { return nil }
        if case .discarding = self { return nil }
        let codings = response.fields.contentCodings
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }
}

/// The outcome of several steps of a load.
enum LoadProgress {
    /// The load has reached the requested state.
    case done
    /// The load has to wait; see ``LoadClock/block``.
    case blocked(Interest)
    /// The ``HTTPLoad/deferred`` actions have to be performed first: the next step may need their results.
    case again
}

/// The caller that waits for a load without its lock.
enum Lending: Sendable {
    /// No caller that the load has to know.
    case none
    /// None, and the request was sent just now, so its response cannot have arrived: a caller that blocks can borrow the connection
    /// without trying a read first.
    case justSent
    /// A thread has borrowed the connection, and waits for its input.
    case lent
    /// The same; others wait at the load's point meanwhile, and are woken afterwards.
    case lentAndAwaited
    /// Callers wait at the load's point while another one reads the stream of the request's body, and are woken afterwards.
    case awaited

    /// Whether a thread has borrowed the connection.
    var isLent: Bool { self == .lent || self == .lentAndAwaited }

    /// Whether callers have to be woken afterwards.
    var isAwaited: Bool { self == .lentAndAwaited || self == .awaited }

    /// Notes that the request was sent just now.
    mutating func noteSent() { if self == .none { self = .justSent } }

    /// Notes that time has passed since the request was sent.
    mutating func noteTime() { if self == .justSent { self = .none } }

    /// A thread borrows the connection.
    mutating func begin() {
        switch self {
        case .none, .justSent, .lent: self = .lent
        case .lentAndAwaited, .awaited: self = .lentAndAwaited
        }
    }

    /// The thread returns the connection.
    mutating func end() {
        switch self {
        case .lent: self = .none
        case .lentAndAwaited: self = .awaited
        case .none, .justSent, .awaited: break
        }
    }

    /// A caller begins to wait at the load's point, and has to be woken afterwards.
    mutating func addWaiter() {
        switch self {
        case .none, .justSent, .awaited: self = .awaited
        case .lent, .lentAndAwaited: self = .lentAndAwaited
        }
    }
}

/// A response that leads to another request. Its body is read and dropped, so that its connection can be used again.
struct Discard: Sendable {
    /// The most bytes of an unneeded response that are read in order to keep its connection.
    static let maximumSize: Int64 = 64 * 1024

    /// The outcome of a step.
    enum Step {
        case needs(Need)
        /// Enough was read. If the connection is not reusable, the load closes it.
        case ended(HTTPConnection?, isReusable: Bool)
    }

    let carrier: any HTTPCarrier
    let next: NextRequest
    /// The instant at which the rest of the body is given up.
    let deadline: Moment
    /// The number of bytes dropped.
    private var count: Int64 = 0

    init(_ carrier: any HTTPCarrier, next: NextRequest, deadline: Moment) {
        self.carrier = carrier
        self.next = next
        self.deadline = deadline
    }

    /// Reads until the end of the body, ``maximumSize`` or the ``deadline``.
    mutating func advance(_ deferred: inout DeferredActions) -> Step {
        guard carrier.endsByItself, .now < deadline else { return .ended(carrier.connection, isReusable: false) }
        var scrap = [UInt8](repeating: 0, count: 4096)
        var span = scrap.mutableSpan
        var bytes = span.mutableBytes
        do throws(CarrierFailure) {
            while count < Discard.maximumSize {
                switch try carrier.read(into: &bytes, &deferred) {
                case .payload(let more): count += Int64(more)
                case .needs(let need): return .needs(need)
                case .ended(let end): return .ended(end.connection, isReusable: end.isReusable)
                }
            }
        } catch {
            // The next request is known; a failure of this body does not matter.
        }
        return .ended(carrier.connection, isReusable: false)
    }
}

/// What few loads have. A separate object, because a load is moved and destroyed with each of its fields.
final class LoadExtras: @unchecked Sendable {
    // Unchecked: only the load refers to it, one step at a time.

    /// The state of the proxies; nil for a load that no setting can route through one.
    private(set) var proxies: ProxyProgress?
    /// The interim responses that preceded the final one.
    var interim: [HTTPResponse] = []
    /// What TLS has agreed on for the last connection that the load has given up.
    var security: ConnectionSecurity?
    /// The failure of the body that a look at it has found, for the next read.
    var bodyFailure: StreamError?
    /// How often the current request has been sent in vain.
    var attempts = Attempts()

    func ensureProxies() -> ProxyProgress {
        let made = proxies ?? ProxyProgress()
        proxies = made
        return made
    }
}
