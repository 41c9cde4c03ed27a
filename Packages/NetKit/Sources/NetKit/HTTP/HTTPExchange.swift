internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// A load as the transport of a stream: what is read is the body of the answer.
///
/// All state is one ``HTTPLoad`` inside a ``LoadPoint``; reading, looking and closing may come from different threads.
final class HTTPExchange: StreamTransport {
    private let point: LoadPoint
    var kind: StreamKind { .http }

    init(_ request: consuming HTTPRequest, body: consuming HTTPBody?, loop: EventLoop) {
        if case nil = body, let bytes = request.body { body = .bytes(bytes) }
        point = LoadPoint(HTTPLoad(consume request, body: consume body, loop: loop), loop: loop)
    }

    deinit { point.end() }

    /// What to send, in place of what it was made with; before it is opened.
    func send(_ request: HTTPRequest, body: HTTPBody?) {
        point.withLoad { (load, hasBegun) in
            if !hasBegun { load.send(request, body: body) }
        }
    }

    var loop: EventLoop { point.loop }

    var waitPoint: WaitPoint { point }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try point.step { (load) throws(StreamError) in
            // Open means that transmission has begun; the answer is waited for by reading.
            switch try load.begin() {
            case .done: .opened
            case .blocked(let interest): .wouldBlock(interest)
            case .again: nil
            }
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try point.step { (load) throws(StreamError) in
            // On the loop, what has come since is told of by an edge. Elsewhere somebody may be polling.
            if load.hasJustSent, !point.loop.isCurrent { load.hasJustSent = false }
            return try load.read(into: &buffer)
        }
    }

    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        var failed: (connection: HTTPConnection, error: StreamError)?
        while true {
            var lent: (connection: HTTPConnection, fills: Bool)?
            let attempt = try point.step { (load) throws(StreamError) in
                load.isConnectionLent = false
                let attempt = try load.read(into: &buffer)
                guard case .wouldBlock? = attempt else { return attempt }
                // A wait that failed although the connection has not is no wait; another one would fail as well.
                if let failed, load.connection === failed.connection { throw failed.error }
                lent = load.lendConnection()
                return attempt
            }
            guard let lent else { return attempt }
            failed = lent.connection.waitForInput(fills: lent.fills).map { (lent.connection, $0) }
        }
    }

    func peek() throws(StreamError) -> Attempt {
        try point.step { (load) throws(StreamError) in
            if load.isConnectionLent { return .wouldBlock(.readable) }
            load.hasJustSent = false
            return try load.peek()
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() { point.end() }
}

// MARK: - Properties

extension HTTPExchange {
    func property(named name: String) -> (any Sendable)? {
        point.withLoad { (load, hasBegun) in
            switch name {
            case StreamProperty<HTTPResponse>.httpResponse.name: load.finalResponse
            case StreamProperty<HTTPResponse>.httpProxyResponse.name: load.tunnelResponse
            case StreamProperty<HTTPProxy>.httpAnsweringProxy.name: load.proxies?.answering
            case StreamProperty<[UInt8]>.httpProxyBinding.name: load.proxies?.binding
            case StreamProperty<AuthenticationVerdict>.httpTunnelVerdict.name: load.proxies?.verdict
            case StreamProperty<[HTTPResponse]>.httpInterimResponses.name: hasBegun ? load.interim : nil
            case StreamProperty<HTTPFields>.httpTrailers.name: hasBegun ? load.trailers : nil
            case StreamProperty<HTTPFields>.httpDroppedTrailers.name: hasBegun ? load.decoder.droppedTrailers : nil
            case StreamProperty<URL>.httpFinalURL.name: load.url
            case StreamProperty<HTTPRequest>.httpFinalRequest.name: load.finalRequest ?? load.request
            case StreamProperty<Int64>.httpBodyBytesSent.name: load.bodyBytesSent
            case StreamProperty<Int64>.httpBodyLength.name: load.bodyLength
            case StreamProperty<ConnectionReport>.report.name: load.log.report(load.response)
            case StreamProperty<TLSInformation>.tlsInformation.name: load.tlsInformation
            case StreamProperty<Bool>.urlDemandsTLS.name: load.url?.scheme?.lowercased() == "https"
            case StreamProperty<[UInt8]>.serverEndPointBinding.name: load.serverEndPointBinding
            default: load.settings.value(named: name)
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        point.withLoad { (load, hasBegun) in
            if hasBegun, name != StreamProperty<Duration>.writeLimit.name { return false }
            return load.settings.set(value, named: name)
        }
    }
}
