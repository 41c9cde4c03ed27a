// The functions of CFHTTPStream.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import HTTPMessage
@_spi(CoreFoundation) internal import HTTPStream
internal import StreamKit

private func makeStream(
    _ allocator: CFAllocator?, _ message: CFHTTPMessage, _ body: CFReadStream?
) -> Unmanaged<CFReadStream> {
    let source: HTTPMessageState = state(of: message)
    guard let request = source.requestToSend else { return nullable(nil) }
    // An empty body that was set is announced with its length, for any method.
    let upload =
        body.map { body in
            let length = request.fields[.contentLength].flatMap { UInt64($0) }.flatMap { Int64(exactly: $0) }
            return HTTPBody.stream(once: ReadStream(transport: StreamedBody(body)), length: length)
        } ?? source.message.body.map { HTTPBody.bytes($0) }
    let record = RequestRecord(request, source.credentials)
    let state = ReadStreamState(ReadStream(request: request, body: upload), keys: .http, record: record)
    // A CFHTTPMessage is sent as it is; in Swift, an empty value omits the field.
    if request.fields[.userAgent] == "" { _ = state.set(.http(\.keepsEmptyUserAgent), to: true) }
    for login in record.logins { login.begin(state) }
    return nullable(makeReadStream(allocator, state))
}

@_cdecl("CFReadStreamCreateForHTTPRequest") @implementation
package func __CFReadStreamCreateForHTTPRequest(
    _ alloc: CFAllocator?, _ request: CFHTTPMessage
) -> Unmanaged<CFReadStream> {
    makeStream(alloc, request, nil)
}

@_cdecl("CFReadStreamCreateForStreamedHTTPRequest") @implementation
package func __CFReadStreamCreateForStreamedHTTPRequest(
    _ alloc: CFAllocator?, _ requestHeaders: CFHTTPMessage, _ requestBody: CFReadStream
) -> Unmanaged<CFReadStream> {
    makeStream(alloc, requestHeaders, requestBody)
}
