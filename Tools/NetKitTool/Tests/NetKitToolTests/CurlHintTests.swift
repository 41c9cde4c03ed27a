import ArgumentParser
import Testing

@testable import netkit

/// A command typed from habit works, or the message says what to type instead.
@Suite struct CurlHintTests {
    /// The options of curl 7.88.
    private static let options = """
        --abstract-unix-socket --alt-svc --anyauth -a --append --aws-sigv4 --basic --cacert --capath -E --cert
        --cert-status --cert-type --ciphers --compressed --compressed-ssh -K --config --connect-timeout --connect-to -C
        --continue-at -b --cookie -c --cookie-jar --create-dirs --create-file-mode --crlf --crlfile --curves -d --data
        --data-ascii --data-binary --data-raw --data-urlencode --delegation --digest -q --disable --disable-eprt
        --disable-epsv --disallow-username-in-url --dns-interface --dns-ipv4-addr --dns-ipv6-addr --dns-servers
        --doh-cert-status --doh-insecure --doh-url -D --dump-header --egd-file --engine --etag-compare --etag-save
        --expect100-timeout -f --fail --fail-early --fail-with-body --false-start -F --form --form-escape --form-string
        --ftp-account --ftp-alternative-to-user --ftp-create-dirs --ftp-method --ftp-pasv -P --ftp-port --ftp-pret
        --ftp-skip-pasv-ip --ftp-ssl-ccc --ftp-ssl-ccc-mode --ftp-ssl-control -G --get -g --globoff
        --happy-eyeballs-timeout-ms --haproxy-protocol -I --head -H --header -h --help --hostpubmd5 --hostpubsha256
        --hsts --http0.9 -0 --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --http3-only
        --ignore-content-length -i --include -k --insecure --interface -4 --ipv4 -6 --ipv6 --json -j
        --junk-session-cookies --keepalive-time --key --key-type --krb --libcurl --limit-rate -l --list-only
        --local-port -L --location --location-trusted --login-options --mail-auth --mail-from --mail-rcpt
        --mail-rcpt-allowfails -M --manual --max-filesize --max-redirs -m --max-time --metalink --negotiate -n --netrc
        --netrc-file --netrc-optional -: --next --no-alpn -N --no-buffer --no-clobber --no-keepalive --no-npn
        --no-progress-meter --no-sessionid --noproxy --ntlm --ntlm-wb --oauth2-bearer -o --output --output-dir -Z
        --parallel --parallel-immediate --parallel-max --pass --path-as-is --pinnedpubkey --post301 --post302 --post303
        --preproxy -# --progress-bar --proto --proto-default --proto-redir -x --proxy --proxy-anyauth --proxy-basic
        --proxy-cacert --proxy-capath --proxy-cert --proxy-cert-type --proxy-ciphers --proxy-crlfile --proxy-digest
        --proxy-header --proxy-insecure --proxy-key --proxy-key-type --proxy-negotiate --proxy-ntlm --proxy-pass
        --proxy-pinnedpubkey --proxy-service-name --proxy-ssl-allow-beast --proxy-ssl-auto-client-cert
        --proxy-tls13-ciphers --proxy-tlsauthtype --proxy-tlspassword --proxy-tlsuser --proxy-tlsv1 -U --proxy-user
        --proxy1.0 -p --proxytunnel --pubkey -Q --quote --random-file -r --range --rate --raw -e --referer -J
        --remote-header-name -O --remote-name --remote-name-all -R --remote-time --remove-on-error -X --request
        --request-target --resolve --retry --retry-all-errors --retry-connrefused --retry-delay --retry-max-time
        --sasl-authzid --sasl-ir --service-name -S --show-error -s --silent --socks4 --socks4a --socks5 --socks5-basic
        --socks5-gssapi --socks5-gssapi-nec --socks5-gssapi-service --socks5-hostname -Y --speed-limit -y --speed-time
        --ssl --ssl-allow-beast --ssl-auto-client-cert --ssl-no-revoke --ssl-reqd --ssl-revoke-best-effort -2 --sslv2 -3
        --sslv3 --stderr --styled-output --suppress-connect-headers --tcp-fastopen --tcp-nodelay -t --telnet-option
        --tftp-blksize --tftp-no-options -z --time-cond --tls-max --tls13-ciphers --tlsauthtype --tlspassword --tlsuser
        -1 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --tr-encoding --trace --trace-ascii --trace-time
        --unix-socket -T --upload-file --url --url-query -B --use-ascii -u --user -A --user-agent -v --verbose -V
        --version -w --write-out --xattr
        """.split(whereSeparator: \.isWhitespace).map(String.init)

    @Test func eachOptionOfCurlIsKnownOrHasAHint() {
        for option in Self.options {
            guard let sentence = CommandLineArguments.unknownOption(in: ["get", option], of: GetCommand.self) else {
                continue
            }
            let start = "Unknown option \(option). "
            #expect(sentence.hasPrefix(start) && sentence.hasSuffix("."), "\(sentence)")
            #expect(!sentence.contains("Did you mean"), "\(sentence)")
        }
    }

    @Test(arguments: [
        (["get", "--json", #"{"a":1}"#, "http://h.invalid/"], "is not a URL. Use --json-body to send JSON."),
        (["http://h.invalid/"], "A URL follows a verb: netkit get http://h.invalid/"),
        (["-O", "http://h.invalid/"], "Options follow a verb: netkit get -O"),
        (["version"], "Did you mean --version?"),
        (["put", "x", "http://h.invalid/"], "use netkit get, with -T FILE"), (["get", "--spider", "x"], "Use -I."),
        (["get", "--tries=2", "x"], "Use --retry"), (["connect", "--showcerts", "h.invalid:1"], "Use --report."),
        (["nslookup", "x"], "Use netkit resolve."), (["wget", "x"], "Use netkit get."),
        (["nc", "-l"], "Use netkit connect."),
        (["resolve", "MX", "h.invalid"], "Use -t MX."), (["resolve", "-4", "h.invalid"], "Use -t A."),
        (["get", "-r", "0-9", "http://h.invalid/"], "use --range 0-9"),
        (["get", "-N", "http://h.invalid/"], "netkit does not buffer its output"),
        (["publish", "-s", "x", "_x._tcp", "1"], "It is not needed"),
        (["connect", "-connect", "h.invalid:1"], "netkit connect --tls HOST:PORT"),
        (["mv", "ftp://a.invalid/x", "ftp://b.invalid/y"], "is on another server"),
        (["mv", "ftp://a.invalid/x", "ftp://a.invalid:2121/y"], "is on another server"),
        (["resolve", "@127.0.0.1", "h.invalid"], "Use --server 127.0.0.1."),
        (["resolve", "h.invalid", "MX"], "Use -t MX."), (["resolve", "+short", "h.invalid"], "Use --short."),
        (["resolve", "h.invalid", "+norec"], "no equivalent of this option of dig"),
        (["resolve", "-x", "127.0.0.1"], "Write the address without an option."),
        (["connect", "http://h.invalid:80/"], "is a URL; use HOST:PORT"), (["ls", "-lh"], "Missing expected argument"),
        (["ls", "-la", "ftp://h.invalid/"], "Unknown option -a. It is not needed: all entries are listed."),
        (["connect", "-v", "h.invalid:80"], "Unknown option -v. Use --report."),
        (["connect", "-zw", "h.invalid", "80"], "Unknown option -z. Use netkit connect HOST:PORT </dev/null"),
        (["browse", "-art"], "Unknown option -a. It is not needed: without a type, all types are listed."),
        (["put", "-T", "x", "ftp://h.invalid/"], "Write the file without an option"),
        (["rm", "-rh"], "-h prints the help of rm"),
    ])
    func habits(_ arguments: [String], _ words: String) async throws {
        let run = try await Tool.run(arguments)
        #expect(run.status != 0 && run.text.contains(words), "\(run.text)")
    }
}
