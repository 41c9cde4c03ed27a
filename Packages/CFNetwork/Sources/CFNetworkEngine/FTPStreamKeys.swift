internal import CFNetworkC
internal import CoreFoundation
internal import FTPStream
internal import Foundation
internal import HTTPStream
internal import StreamKit

extension [String: StreamKey] {
    /// The properties of FTP streams.
    static let ftp: StreamKeys = {
        var keys = StreamKeys.socket
        keys[string(__kCFStreamPropertyFTPUserName)] = .text(.ftp(\.userName))
        keys[string(__kCFStreamPropertyFTPPassword)] = .text(.ftp(\.password), isSecret: true)
        keys[string(__kCFStreamPropertyFTPUsePassiveMode)] = .flag(.ftp(\.usesPassiveMode))
        keys[string(__kCFStreamPropertyFTPAttemptPersistentConnection)] = .flag(.ftp(\.keepsConnection))
        keys[string(__kCFStreamPropertyFTPFetchResourceInfo)] = .flag(.ftp(\.fetchesResourceInfo))
        keys[string(__kCFStreamPropertyFTPFileTransferOffset)] = .count(.ftp(\.transferOffset))
        keys[string(__kCFStreamPropertyFTPResourceSize)] = .reading {
            $0.value(.ftpResourceSize).map { NSNumber(value: $0) }
        }
        let proxy = string(__kCFStreamPropertyFTPProxy)
        keys[proxy] = .dictionary(proxy) { setProxy($1, on: $0) }
        return keys
    }()

    /// Sets the proxy of a dictionary with kCFStreamPropertyFTPProxyHost and …Port, …User and …Password, or with the keys of a
    /// SOCKS proxy. A dictionary with neither removes the proxy.
    private static func setProxy(_ dictionary: NSDictionary?, on stream: StreamState) -> Bool {
        guard let dictionary else { return stream.set(.ftp(\.proxy), to: nil) }
        if let passive = dictionary["FTPPassive"] {
            guard let flag = passive as? NSNumber, stream.set(.ftp(\.passiveModeDefault), to: flag.boolValue) else {
                return false
            }
        }
        let isOn = (dictionary["FTPEnable"] as? NSNumber)?.boolValue ?? true
        let usesSOCKS =
            dictionary[string(kCFStreamPropertySOCKSProxyHost)] != nil
            && (dictionary["SOCKSEnable"] as? NSNumber)?.boolValue ?? true
        guard isOn, let value = dictionary[string(__kCFStreamPropertyFTPProxyHost)] else {
            guard stream.set(.ftp(\.proxy), to: nil) else { return false }
            return !usesSOCKS || stream.setFoundationValue(dictionary, string(kCFStreamPropertySOCKSProxy))
        }
        // The two exclude each other.
        if usesSOCKS { return false }
        guard let host = value as? String, !host.isEmpty else { return false }
        var proxy = FTPProxy(host: host)
        if let port = dictionary[string(__kCFStreamPropertyFTPProxyPort)] {
            guard let number = port as? NSNumber, let port = UInt16(exactly: number.intValue), port > 0 else {
                return false
            }
            proxy.port = port
        }
        proxy.userName = dictionary[string(__kCFStreamPropertyFTPProxyUser)] as? String
        proxy.password = dictionary[string(__kCFStreamPropertyFTPProxyPassword)] as? String
        return stream.set(.ftp(\.proxy), to: proxy)
    }
}
