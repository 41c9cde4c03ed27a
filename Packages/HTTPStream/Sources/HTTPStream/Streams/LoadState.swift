internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// The state of a load in its loop over hops, with the data of the current one.
enum LoadState: Sendable {
    /// The route of the request is being decided, and a connection is looked for: also an idle one with `mayReuse`.
    case deciding(mayReuse: Bool)
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

    /// Whether the request is being or has been sent.
    var isRequestUnderway: Bool {
        switch self {
        case .deciding, .opening: false
        case .exchanging(let carrier): !carrier.isSending || carrier.bytesSent > 0
        case .receiving, .discarding, .switched, .refused, .finished, .abandoned: true
        }
    }

    /// Whether the head of the final response has arrived.
    var isAtBody: Bool {
        switch self {
        case .deciding, .opening, .exchanging, .discarding: false
        case .receiving, .switched, .refused, .finished, .abandoned: true
        }
    }

    /// Whether the body has been read to its end.
    var hasDeliveredBody: Bool {
        switch self {
        case .finished, .refused: true
        case .deciding, .opening, .exchanging, .receiving, .discarding, .switched, .abandoned: false
        }
    }

    /// The carrier of the current request, or of the last one.
    var carrier: (any HTTPCarrier)? {
        switch self {
        case .deciding, .opening, .refused: nil
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
        case .deciding, .refused: nil
        }
    }

    /// Where to wait for what a load needs, with the point of a decision about its proxy; nowhere if a step only ended its turn.
    func places(for need: Need, decision: WaitPoint?) -> (WaitPoint.Readiness?, WaitPoint.Readiness?) {
        func place(_ point: WaitPoint?) -> WaitPoint.Readiness? { point.map { .init($0, .reader, for: need.interest) } }
        switch need {
        case .decision: return (place(decision), nil)
        case .room, .input, .permission: return (place(waitPoint), nil)
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
        case .deciding, .opening, .exchanging, .receiving, .switched, .finished, .abandoned:
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
        case .deciding: awaitsScript ? "waiting for the proxy script" : "connecting"
        case .opening(let connection):
            switch connection.pair.report.steps.last(where: { $0.outcome == .underway })?.kind {
            case .lookup(let name): "looking up \(name)"
            case .proxy(let kind, let address): "connecting through the \(kind) proxy \(address)"
            case .tls: "waiting for the TLS handshake"
            case .connect, .request, nil: "connecting"
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
        guard let url, let head = carrier?.sentHead else { return nil }
        return RequestPreparation.request(from: head, for: url)
    }

    /// The number of bytes of the request's body that have been sent.
    var bodyBytesSent: Int64 { carrier?.bodyBytesSent ?? 0 }

    /// The length of the body as read, if the head declares it; nil otherwise.
    var bodyLength: Int64? {
        switch self {
        case .deciding, .opening, .exchanging, .discarding: nil
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

/// A response that leads to another request. Its body is read and dropped, so that its connection can be used again.
struct Discard: Sendable {
    /// The outcome of a step.
    enum Step {
        case needs(Need)
        /// Enough was read. If the connection is not reusable, the load closes it.
        case ended(HTTPConnection?, isReusable: Bool)
    }

    let carrier: any HTTPCarrier
    let next: Fetch.NextRequest
    /// The instant at which the rest of the body is given up.
    let deadline: Moment
    /// The number of bytes dropped.
    private var count: Int64 = 0

    init(_ carrier: any HTTPCarrier, next: Fetch.NextRequest, deadline: Moment) {
        self.carrier = carrier
        self.next = next
        self.deadline = deadline
    }

    /// Reads until the end of the body, ``Fetch/discardLimit`` or the ``deadline``.
    mutating func advance(_ deferred: inout DeferredActions) -> Step {
        guard carrier.endsByItself, .now < deadline else { return .ended(carrier.connection, isReusable: false) }
        var scrap = [UInt8](repeating: 0, count: 4096)
        var span = scrap.mutableSpan
        var bytes = span.mutableBytes
        do throws(CarrierFailure) {
            while count < Fetch.discardLimit {
                switch try carrier.read(into: &bytes, &deferred) {
                case .payload(let more): count += Int64(more)
                case .needs(let need): return .needs(need)
                case .ended(let connection, let isReusable): return .ended(connection, isReusable: isReusable)
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
    /// The TLS parameters of the last connection that the load has given up.
    private(set) var tls: TLSInformation?
    /// The channel binding of that connection.
    private(set) var binding: [UInt8]?

    func keep(_ tls: TLSInformation, binding: [UInt8]?) {
        self.tls = tls
        self.binding = binding
    }

    func ensureProxies() -> ProxyProgress {
        let made = proxies ?? ProxyProgress()
        proxies = made
        return made
    }
}
