// The functions of CFHTTPAuthentication.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import Foundation
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// The type identifier of authentication objects.
@_cdecl("CFHTTPAuthenticationGetTypeID") @implementation
package func CFHTTPAuthenticationGetTypeID() -> CFTypeID { HTTPAuthenticationState.typeID }

/// The state of an authentication object that has processed all responses.
private func currentState(of auth: CFHTTPAuthentication) -> HTTPAuthenticationState {
    let state: HTTPAuthenticationState = state(of: auth)
    state.processResponses()
    return state
}

@_cdecl("CFHTTPAuthenticationCreateFromResponse") @implementation
package func __CFHTTPAuthenticationCreateFromResponse(
    _ alloc: CFAllocator?, _ response: CFHTTPMessage
) -> Unmanaged<CFHTTPAuthentication> {
    let message: HTTPMessageState = state(of: response)
    guard let head = message.message.response else { return nullable(nil) }
    if let object = message.takeAuthentication() { return .passRetained(object) }
    let isProxy = head.status == .proxyAuthenticationRequired
    // The program has named the proxy, and a redirect cannot change it.
    let authentication = HTTPAuthentication(
        response: head, from: isProxy ? message.source?.proxy : nil, isNamed: isProxy || message.isFromNamedHost)
    return nullable(
        authentication.flatMap {
            HTTPAuthenticationState($0).makeObject(alloc, HTTPAuthenticationState.typeID)
        })
}

/// Returns whether an object can apply credentials.
@_cdecl("CFHTTPAuthenticationIsValid") @implementation
package func CFHTTPAuthenticationIsValid(
    _ auth: CFHTTPAuthentication, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    guard let failure = currentState(of: auth).authentication.error else { return true }
    error?.pointee = failure.streamError
    return false
}

@_cdecl("CFHTTPAuthenticationAppliesToRequest") @implementation
package func __CFHTTPAuthenticationAppliesToRequest(_ auth: CFHTTPAuthentication, _ request: CFHTTPMessage) -> Bool {
    let message: HTTPMessageState = state(of: request)
    guard let head = message.message.request else { return false }
    let authentication = currentState(of: auth).authentication
    return authentication.peer.role == .proxy || authentication.appliesTo(head)
}

/// Returns whether requests must be sent one at a time.
@_cdecl("CFHTTPAuthenticationRequiresOrderedRequests") @implementation
package func CFHTTPAuthenticationRequiresOrderedRequests(_ auth: CFHTTPAuthentication) -> Bool {
    currentState(of: auth).authentication.requiresOrderedRequests
}

@_cdecl("CFHTTPMessageApplyCredentials") @implementation
package func __CFHTTPMessageApplyCredentials(
    _ request: CFHTTPMessage, _ auth: CFHTTPAuthentication, _ username: CFString?, _ password: CFString?,
    _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    var credentials: [HTTPAuthentication.CredentialKey: String] = [:]
    credentials[.username] = username.map { string($0) }
    credentials[.password] = password.map { string($0) }
    return apply(credentials, of: auth, to: request, error)
}

@_cdecl("CFHTTPMessageApplyCredentialDictionary") @implementation
package func __CFHTTPMessageApplyCredentialDictionary(
    _ request: CFHTTPMessage, _ auth: CFHTTPAuthentication, _ dict: CFDictionary,
    _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    let dictionary = nsDictionary(dict)
    var credentials: [HTTPAuthentication.CredentialKey: String] = [:]
    for key in [HTTPAuthentication.CredentialKey.username, .password, .accountDomain] {
        credentials[key] = dictionary[key.rawValue] as? String
    }
    return apply(credentials, of: auth, to: request, error)
}

private func apply(
    _ credentials: [HTTPAuthentication.CredentialKey: String], of auth: CFHTTPAuthentication,
    to request: CFHTTPMessage, _ error: UnsafeMutablePointer<CFStreamError>?
) -> Bool {
    let message: HTTPMessageState = state(of: request)
    guard var head = message.message.request else {
        error?.pointee = CFStreamError(.posix, code: 22)  // EINVAL
        return false
    }
    let state: HTTPAuthenticationState = state(of: auth)
    do throws(HTTPAuthError) {
        try state.apply(credentials, to: &head)
    } catch let failure {
        error?.pointee = failure.streamError
        return false
    }
    let field = state.authentication.fieldName
    return message.take(AppliedCredentials(object: auth, field: field, value: head.fields[field]))
}

@_cdecl("CFHTTPAuthenticationCopyRealm") @implementation
package func __CFHTTPAuthenticationCopyRealm(_ auth: CFHTTPAuthentication) -> Unmanaged<CFString> {
    cfString(currentState(of: auth).authentication.displayRealm)
}

@_cdecl("CFHTTPAuthenticationCopyDomains") @implementation
package func __CFHTTPAuthenticationCopyDomains(_ auth: CFHTTPAuthentication) -> Unmanaged<CFArray> {
    cfArray(currentState(of: auth).authentication.domains.compactMap { cfURL($0.absoluteString) })
}

@_cdecl("CFHTTPAuthenticationCopyMethod") @implementation
package func __CFHTTPAuthenticationCopyMethod(_ auth: CFHTTPAuthentication) -> Unmanaged<CFString> {
    nullable(currentState(of: auth).methodName.map { cfString($0) })
}

/// Returns whether a user name and a password are required.
@_cdecl("CFHTTPAuthenticationRequiresUserNameAndPassword") @implementation
package func CFHTTPAuthenticationRequiresUserNameAndPassword(_ auth: CFHTTPAuthentication) -> Bool {
    currentState(of: auth).authentication.requiresUserNameAndPassword
}

/// Returns whether a Windows domain is required.
@_cdecl("CFHTTPAuthenticationRequiresAccountDomain") @implementation
package func CFHTTPAuthenticationRequiresAccountDomain(_ auth: CFHTTPAuthentication) -> Bool {
    currentState(of: auth).authentication.requiresAccountDomain
}

extension HTTPAuthError {
    /// The error in CFNetwork's form. An error without a number of its own is one that other credentials do not help against.
    fileprivate var streamError: CFStreamError {
        switch code {
        case .timedOut: CFStreamError(.posix, code: 110)  // ETIMEDOUT
        default: CFStreamError(.http, code: (number ?? .authenticationTypeUnsupported).rawValue)
        }
    }
}
