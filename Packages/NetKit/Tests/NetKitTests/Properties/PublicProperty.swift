import EventLoops
@_spi(Packages) import FTPStream
import FoundationEssentials
import HTTPMessage
import HostResolver
@_spi(Packages) import NetKit
import StreamKit

#if Logging
import Logging
#endif

/// A stream of any kind, or a client that makes such streams.
enum Subject: Sendable {
    case reader(ReadStream)
    case writer(WriteStream)
    case pair(StreamPair)
    case client(FTPClient)

    func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        switch self {
        case .reader(let stream): try stream.set(property, to: value)
        case .writer(let stream): try stream.set(property, to: value)
        case .pair(let pair): try pair.set(property, to: value)
        case .client(let client): try client.set(property, to: value)
        }
    }

    /// Nil for a client.
    func value<Value>(_ property: StreamProperty<Value>) -> Value? {
        switch self {
        case .reader(let stream): stream[property]
        case .writer(let stream): stream[property]
        case .pair(let pair): pair[property]
        case .client: nil
        }
    }

    var isClient: Bool { if case .client = self { true } else { false } }

    /// Starts to open; a client starts an operation.
    func open() throws(StreamError) {
        switch self {
        case .reader(let stream): try stream.open()
        case .writer(let stream): try stream.open()
        case .pair(let pair): try pair.open()
        case .client: break
        }
    }

    func close() {
        switch self {
        case .reader(let stream): stream.close()
        case .writer(let stream): stream.close()
        case .pair(let pair): pair.close()
        case .client(let client): client.pool.drain()
        }
    }

    /// Reads, opening the stream if necessary. Returns the error.
    func failureOfReading() async -> StreamError? {
        do throws(StreamError) {
            switch self {
            case .reader(let stream): _ = try await stream.read(upTo: 1)
            case .writer(let stream): try await stream.opened()
            case .pair(let pair): _ = try await pair.input.read(upTo: 1)
            case .client(let client):
                let stream = client.reader("file")
                try stream.open()
                _ = try await stream.read(upTo: 1)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Writes more than all buffers can hold. Returns the error.
    func failureOfWriting() async -> StreamError? {
        let bytes = [UInt8](repeating: 7, count: 64 << 20)
        do throws(StreamError) {
            switch self {
            case .reader(let stream): _ = try await stream.read(upTo: 1)  // a request has its body
            case .writer(let stream): try await stream.writeAll(bytes)
            case .pair(let pair): try await pair.output.writeAll(bytes)
            case .client(let client):
                let stream = client.writer("file")
                try stream.open()
                try await stream.writeAll(bytes)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Opens the stream and waits. Returns the error.
    func failureOfOpening() async -> StreamError? {
        do throws(StreamError) {
            switch self {
            case .reader(let stream): try await stream.opened()
            case .writer(let stream): try await stream.opened()
            case .pair(let pair): try await pair.input.opened()
            case .client(let client): _ = try await client.command(try Self.noop())
            }
            return nil
        } catch {
            return error
        }
    }

    static func noop() throws(StreamError) -> FTPCommand {
        do throws(FTPError) { return try FTPCommand("NOOP") } catch { throw .closed }
    }
}

/// A public property without the type of its values, with a value to try it with.
struct PublicProperty: Sendable {
    let member: String
    let name: String
    let isReadOnly: Bool
    let isAlways: Bool
    let isNote: Bool
    let set: @Sendable (Subject) throws(StreamError) -> Void
    /// Whether reading the property returns the value that was set.
    let isSet: @Sendable (Subject) -> Bool
    let handOver: @Sendable (inout StreamProperties) -> Void

    private init<Value>(
        _ member: String, _ property: StreamProperty<Value>, _ sample: Value?,
        comparedBy areEqual: @escaping @Sendable (Value, Value) -> Bool
    ) {
        self.member = member
        name = property.name
        isReadOnly = property.access == .readOnly
        isAlways = property.access == .always
        isNote = property.isNote
        set = { subject throws(StreamError) in try subject.set(property, to: sample) }
        isSet = { subject in
            guard let sample, let value = subject.value(property) else { return false }
            return areEqual(sample, value)
        }
        handOver = { $0[property] = sample }
    }

    static func returned<Value>(_ member: String, _ property: StreamProperty<Value>) -> PublicProperty {
        PublicProperty(member, property, nil) { _, _ in false }
    }

    static func of<Value: Equatable>(
        _ member: String, _ property: StreamProperty<Value>, _ sample: Value
    ) -> PublicProperty {
        PublicProperty(member, property, sample) { $0 == $1 }
    }

    static func object<Value>(
        _ member: String, _ property: StreamProperty<Value>, _ sample: Value
    ) -> PublicProperty {
        PublicProperty(member, property, sample) { ($0 as AnyObject) === ($1 as AnyObject) }
    }
}

extension PublicProperty {
    /// All public properties; ``PropertyMatrixTests`` proves that the list is complete.
    static let all: [PublicProperty] = ofStreamKit + ofFTPStream + ofHTTPStream + ofLogging

    /// Whether the tests were built with the trait `Logging`.
    static var hasLogger: Bool { !ofLogging.isEmpty }

    #if Logging
    private static let ofLogging = [
        PublicProperty("logger", .logger, Logger(label: "matrix")) { $0.label == $1.label }
    ]
    #else
    private static let ofLogging: [PublicProperty] = []
    #endif

    private static let ofStreamKit: [PublicProperty] = [
        .of("appendToFile", .appendToFile, true),
        .of("attemptDelay", .attemptDelay, .milliseconds(77)),
        .of("closesDescriptor", .closesDescriptor, true),
        .returned("dataWritten", .dataWritten),
        .returned("exporterBinding", .exporterBinding),
        .of("failsWhenAddressIsRemoved", .failsWhenAddressIsRemoved, true),
        .of("fileOffset", .fileOffset, 3),
        .of("keepsAlive", .keepsAlive, true),
        .of("localAddress", .localAddress, .ip(.v4(.loopback), port: 0)),
        .returned("nativeDescriptor", .nativeDescriptor),
        .of("openTimeout", .openTimeout, .seconds(77)),
        .of("proxies", .proxies, [ProxyRoute(SOCKSProxy(host: "127.0.0.1", port: 9))]),
        .returned("proxyRoute", .proxyRoute),
        .of("readTimeout", .readTimeout, .seconds(77)),
        .returned("remoteAddress", .remoteAddress),
        .returned("remoteHost", .remoteHost),
        .returned("remoteHostName", .remoteHostName),
        .returned("remotePort", .remotePort),
        .returned("report", .report),
        .object("resolver", .resolver, SystemResolver.shared as any Resolver),
        .of("sendsAtOnce", .sendsAtOnce, false),
        .returned("serverEndPointBinding", .serverEndPointBinding),
        .of("serviceType", .serviceType, .voice),
        .returned("socksBoundAddress", .socksBoundAddress),
        .of("socksProxy", .socksProxy, SOCKSProxy(host: "127.0.0.1", port: 9)),
        .of("tls", .tls, TLSConfiguration()),
        .returned("tlsInformation", .tlsInformation),
        .returned("urlDemandsTLS", .urlDemandsTLS),
        .of("writeTimeout", .writeTimeout, .seconds(77)),
    ]

    private static let ofFTPStream: [PublicProperty] = [
        .of(#"ftp(\.account)"#, .ftp(\.account), "books"),
        .of(#"ftp(\.appends)"#, .ftp(\.appends), true),
        .of(#"ftp(\.transfersText)"#, .ftp(\.transfersText), true),
        .returned("ftpDataTLSInformation", .ftpDataTLSInformation),
        .of(#"ftp(\.fetchesResourceInfo)"#, .ftp(\.fetchesResourceInfo), true),
        .of(#"ftp(\.keepAlive)"#, .ftp(\.keepAlive), .seconds(77)),
        .of(#"ftp(\.keepsConnection)"#, .ftp(\.keepsConnection), false),
        .returned("ftpLastReply", .ftpLastReply),
        .of(#"ftp(\.listingCommand)"#, .ftp(\.listingCommand), .names),
        .of(#"ftp(\.passiveModeDefault)"#, .ftp(\.passiveModeDefault), false),
        .of(#"ftp(\.password)"#, .ftp(\.password), "secret"),
        .object(#"ftp(\.pool)"#, .ftp(\.pool), FTPSessionPool()),
        .of(#"ftp(\.proxy)"#, .ftp(\.proxy), FTPProxy(host: "127.0.0.1")),
        .of(#"ftp(\.replyTimeout)"#, .ftp(\.replyTimeout), .seconds(77)),
        .returned("ftpResourceSize", .ftpResourceSize),
        .of(#"ftp(\.security)"#, .ftp(\.security), .required),
        .of(#"ftp(\.transferOffset)"#, .ftp(\.transferOffset), 3),
        .of(#"ftp(\.userName)"#, .ftp(\.userName), "ann"),
        .of(#"ftp(\.usesPassiveMode)"#, .ftp(\.usesPassiveMode), false),
    ]

    private static let ofHTTPStream: [PublicProperty] = [
        .returned("httpAnsweringProxy", .httpAnsweringProxy),
        .returned("httpBodyBytesSent", .httpBodyBytesSent),
        .returned("httpBodyLength", .httpBodyLength),
        .of(#"http(\.continueTimeout)"#, .http(\.continueTimeout), .seconds(77)),
        .of(#"http(\.crossOrigin)"#, .http(\.crossOrigin), CrossOriginPolicy(sendsBody: true)),
        .of(#"http(\.maximumDecodedLength)"#, .http(\.maximumDecodedLength), 77),
        .of(#"http(\.decodesContent)"#, .http(\.decodesContent), true),
        .of(#"http(\.discardTimeout)"#, .http(\.discardTimeout), .seconds(77)),
        .returned("httpDroppedTrailers", .httpDroppedTrailers),
        .returned("httpFinalRequest", .httpFinalRequest),
        .returned("httpFinalURL", .httpFinalURL),
        .of(#"http(\.endpoints)"#, .http(\.endpoints), HTTPEndpoints(others: .host("127.0.0.1", port: 77))),
        .of(#"http(\.followsRedirects)"#, .http(\.followsRedirects), true),
        .of(#"http(\.host)"#, .http(\.host), "example.org:77"),
        .returned("httpInterimResponses", .httpInterimResponses),
        .returned("httpRedirects", .httpRedirects),
        .returned("httpRemainingContentCoding", .httpRemainingContentCoding),
        .of(#"http(\.keepsConnection)"#, .http(\.keepsConnection), true),
        .of(
            #"http(\.limits)"#, .http(\.limits),
            {
                var limits = HTTPLimits.default
                limits.headLength = 77
                return limits
            }()),
        .object(#"http(\.pool)"#, .http(\.pool), HTTPConnectionPool()),
        .returned("httpProxyResponse", .httpProxyResponse),
        .of(#"http(\.proxySettings)"#, .http(\.proxySettings), ProxySettings()),
        .returned("httpResponse", .httpResponse),
        .of(#"http(\.responseTimeout)"#, .http(\.responseTimeout), .seconds(77)),
        .of(#"http(\.versions)"#, .http(\.versions), .automatic),
        .of(#"http(\.totalTimeout)"#, .http(\.totalTimeout), .seconds(77)),
        .returned("httpTrailers", .httpTrailers),
    ]
}
