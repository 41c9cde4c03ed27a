internal import CFNetworkC
internal import CoreFoundation
internal import Foundation
internal import HTTPMessage
internal import HTTPStream
internal import StreamKit

extension [String: StreamKey] {
    /// The properties of HTTP streams.
    static let http: StreamKeys = {
        var keys = StreamKeys.socket
        keys[string(__kCFStreamPropertyHTTPShouldAutoredirect)] = .flag(.http(\.followsRedirects))
        keys[string(__kCFStreamPropertyHTTPAttemptPersistentConnection)] = .flag(.http(\.keepsConnection))
        keys[string(__kCFStreamPropertyHTTPRequestBytesWrittenCount)] = .reading {
            NSNumber(value: $0.value(.httpBodyBytesSent) ?? 0)
        }
        keys[string(__kCFStreamPropertyHTTPFinalURL)] = .reading {
            $0.value(.httpFinalURL).flatMap { cfURL($0.absoluteString)?.takeRetainedValue() }
        }
        keys[string(__kCFStreamPropertyHTTPFinalRequest)] = .reading {
            $0.value(.httpFinalRequest).flatMap { HTTPMessageState.makeMessage(AnyHTTPMessage($0)) }
        }
        keys[string(__kCFStreamPropertyHTTPResponseHeader)] = .reading { stream in
            stream.record?.processResponse()
            let proxy = stream.value(.httpAnsweringProxy)?.protectionSpace
            guard var response = stream.value(.httpResponse) else { return nil }
            // The stream has removed the chunks: a program may add the body and serialize the message.
            if response.fields[.transferEncoding]?.lowercased() == "chunked" {
                response.fields.remove(.transferEncoding)
            }
            return HTTPMessageState.makeMessage(AnyHTTPMessage(response), .init(record: stream.record, proxy: proxy))
        }
        let proxy = string(__kCFStreamPropertyHTTPProxy)
        keys[proxy] = .dictionary(proxy) { stream, dictionary in
            guard let dictionary else { return stream.set(.http(\.proxySettings), to: nil) }
            guard let settings = ProxySettings(settings: dictionary) else { return false }
            return stream.set(.http(\.proxySettings), to: settings)
        }
        return keys
    }()
}

extension HTTPMessageState {
    /// A new CFHTTPMessage.
    static func makeMessage(_ message: AnyHTTPMessage, _ source: Source = .init(record: nil, proxy: nil)) -> AnyObject?
    {
        let state = HTTPMessageState(message, source: source)
        let object: Unmanaged<CFHTTPMessage>? = state.makeObject(nil, typeID)
        return object?.takeRetainedValue()
    }
}
