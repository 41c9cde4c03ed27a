// The functions of CFHTTPMessage.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
package import CoreFoundation
internal import HTTPMessage

/// The type identifier of messages.
@_cdecl("CFHTTPMessageGetTypeID") @implementation
package func CFHTTPMessageGetTypeID() -> CFTypeID { HTTPMessageState.typeID }

private func makeMessage(_ state: HTTPMessageState?, _ allocator: CFAllocator?) -> Unmanaged<CFHTTPMessage> {
    nullable(state?.makeObject(allocator, HTTPMessageState.typeID))
}

private func state(of message: CFHTTPMessage) -> HTTPMessageState { state(of: message, as: HTTPMessageState.self) }

@_cdecl("CFHTTPMessageCreateRequest") @implementation
package func __CFHTTPMessageCreateRequest(
    _ alloc: CFAllocator?, _ requestMethod: CFString, _ url: CFURL, _ httpVersion: CFString
) -> Unmanaged<CFHTTPMessage> {
    makeMessage(HTTPMessageState.request(method: requestMethod, url: url, version: httpVersion), alloc)
}

@_cdecl("CFHTTPMessageCreateResponse") @implementation
package func __CFHTTPMessageCreateResponse(
    _ alloc: CFAllocator?, _ statusCode: CFIndex, _ statusDescription: CFString?, _ httpVersion: CFString
) -> Unmanaged<CFHTTPMessage> {
    let reason = statusDescription.map { string($0) }
    return makeMessage(HTTPMessageState(status: statusCode, reason: reason, version: string(httpVersion)), alloc)
}

@_cdecl("CFHTTPMessageCreateEmpty") @implementation
package func __CFHTTPMessageCreateEmpty(_ alloc: CFAllocator?, _ isRequest: Bool) -> Unmanaged<CFHTTPMessage> {
    makeMessage(HTTPMessageState(AnyHTTPMessage(emptyRequest: isRequest)), alloc)
}

@_cdecl("CFHTTPMessageCreateCopy") @implementation
package func __CFHTTPMessageCreateCopy(_ alloc: CFAllocator?, _ message: CFHTTPMessage) -> Unmanaged<CFHTTPMessage> {
    makeMessage(HTTPMessageState(copying: state(of: message)), alloc)
}

@_cdecl("CFHTTPMessageIsRequest") @implementation
package func __CFHTTPMessageIsRequest(_ message: CFHTTPMessage) -> Bool { state(of: message).message.isRequest }

@_cdecl("CFHTTPMessageCopyVersion") @implementation
package func __CFHTTPMessageCopyVersion(_ message: CFHTTPMessage) -> Unmanaged<CFString> {
    cfString((state(of: message).message.version ?? .http11).description)
}

@_cdecl("CFHTTPMessageCopyBody") @implementation
package func __CFHTTPMessageCopyBody(_ message: CFHTTPMessage) -> Unmanaged<CFData>? {
    state(of: message).message.body.map(cfData)
}

@_cdecl("CFHTTPMessageSetBody") @implementation
package func __CFHTTPMessageSetBody(_ message: CFHTTPMessage, _ bodyData: CFData) {
    state(of: message).setBody(bytes(bodyData))
}

@_cdecl("CFHTTPMessageCopyHeaderFieldValue") @implementation
package func __CFHTTPMessageCopyHeaderFieldValue(
    _ message: CFHTTPMessage, _ headerField: CFString
) -> Unmanaged<CFString>? {
    state(of: message).value(string(headerField)).map(cfString)
}

@_cdecl("CFHTTPMessageCopyAllHeaderFields") @implementation
package func __CFHTTPMessageCopyAllHeaderFields(_ message: CFHTTPMessage) -> Unmanaged<CFDictionary>? {
    let state = state(of: message)
    return state.hasHead ? cfDictionary(state.message.fields.dictionary) : nil
}

@_cdecl("CFHTTPMessageSetHeaderFieldValue") @implementation
package func __CFHTTPMessageSetHeaderFieldValue(
    _ message: CFHTTPMessage, _ headerField: CFString, _ value: CFString?
) {
    state(of: message).set(string(headerField), to: value.map { string($0) })
}

@_cdecl("CFHTTPMessageAppendBytes") @implementation
package func __CFHTTPMessageAppendBytes(
    _ message: CFHTTPMessage, _ newBytes: UnsafePointer<UInt8>, _ numBytes: CFIndex
) -> Bool {
    guard numBytes >= 0 else { return false }
    return state(of: message).append(UnsafeBufferPointer(start: newBytes, count: numBytes))
}

@_cdecl("CFHTTPMessageIsHeaderComplete") @implementation
package func __CFHTTPMessageIsHeaderComplete(_ message: CFHTTPMessage) -> Bool {
    state(of: message).isHeaderComplete
}

@_cdecl("CFHTTPMessageCopySerializedMessage") @implementation
package func __CFHTTPMessageCopySerializedMessage(_ message: CFHTTPMessage) -> Unmanaged<CFData>? {
    (try? state(of: message).message.serialized()).map(cfData)
}

@_cdecl("CFHTTPMessageCopyRequestURL") @implementation
package func __CFHTTPMessageCopyRequestURL(_ request: CFHTTPMessage) -> Unmanaged<CFURL>? {
    state(of: request).copyURL()
}

@_cdecl("CFHTTPMessageCopyRequestMethod") @implementation
package func __CFHTTPMessageCopyRequestMethod(_ request: CFHTTPMessage) -> Unmanaged<CFString>? {
    (state(of: request).message.method?.name).map(cfString)
}

@_cdecl("CFHTTPMessageAddAuthentication") @implementation
package func __CFHTTPMessageAddAuthentication(
    _ request: CFHTTPMessage, _ authenticationFailureResponse: CFHTTPMessage?, _ username: CFString,
    _ password: CFString, _ authenticationScheme: CFString?, _ forProxy: Bool
) -> Bool {
    state(of: request).authenticate(
        answering: authenticationFailureResponse.map { state(of: $0) }, user: string(username),
        password: string(password), scheme: authenticationScheme.map { string($0) }, forProxy: forProxy)
}

@_cdecl("CFHTTPMessageGetResponseStatusCode") @implementation
package func __CFHTTPMessageGetResponseStatusCode(_ response: CFHTTPMessage) -> CFIndex {
    state(of: response).message.status?.code ?? -1
}

@_cdecl("CFHTTPMessageCopyResponseStatusLine") @implementation
package func __CFHTTPMessageCopyResponseStatusLine(_ response: CFHTTPMessage) -> Unmanaged<CFString>? {
    state(of: response).message.statusLine.map(cfString)
}
