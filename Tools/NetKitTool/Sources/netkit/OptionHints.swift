/// What to type instead of an option that a verb does not have, and the programs that it replaces do: `ls`, `lftp`, `nc`, `dig` and
/// `avahi-browse`. ``CurlHints`` has those of curl.
enum OptionHints {
    private static let hints: [String: [String: String]] = [
        "browse": [
            "-a": "It is not needed: without a type, all types are listed.",
            "--all": "It is not needed: without a type, all types are listed.",
            "-d": "Use --domain DOMAIN.",
            "-p": "Use --json.",
            "--parsable": "Use --json.",
            "-r": "Use --resolve.",
            "-t": "Use --timeout SECONDS.",
            "--terminate": "Use --timeout SECONDS.",
        ],
        "connect": [
            "-c": "Write the address without an option: netkit connect --tls HOST:PORT.",
            "-k": "It serves one client; repeat it: while netkit connect --listen PORT; do :; done.",
            "-n": "Use </dev/null.",
            "-N": "It is not needed: the end of the input ends the sending direction.",
            "-p": "Write the port as the last argument: netkit connect --listen PORT.",
            "-q": "It is not needed: the end of the input ends the sending direction.",
            "-s": "The server name is HOST; --report prints the certificates.",
            "--showcerts": "Use --report.",
            "-t": "Use --tls.",
            "-U": "Write the path of the socket in place of HOST:PORT.",
            "-v": "Use --report.",
            "-w": "Use --timeout SECONDS.",
            "-X": "Use -x socks5://HOST:PORT or -x http://HOST:PORT.",
            "-z": "Use netkit connect HOST:PORT </dev/null; it exits with 7 if nothing listens there.",
        ],
        "ls": [
            "-1": "It is not needed: without -l, each line is a name.",
            "-a": "It is not needed: all entries are listed.",
            "-A": "It is not needed: all entries are listed.",
            "-d": "Use wildcards for the name: netkit ls -l 'URL/NAM?'.",
            "-R": "Use netkit get -r to download a directory with all below it.",
            "-S": "Use sort.",
            "-t": "Use sort.",
        ],
        "mkdir": ["--parents": "Use -p."],
        "put": [
            "-a": "Use --resume.",
            "--append": "Use --resume.",
            "-C": "Use --resume.",
            "-T": "Write the file without an option: netkit put FILE URL.",
            "--upload-file": "Write the file without an option: netkit put FILE URL.",
        ],
        "publish": [
            "-d": "Services are published in local.",
            "-s": "It is not needed: publish announces a service.",
        ],
        "resolve": [
            "-4": "Use -t A.",
            "-6": "Use -t AAAA.",
            "-f": "Write the names on the command line: netkit resolve $(cat FILE).",
            "-p": "Use --server ADDRESS:PORT.",
            "-q": "Write the name without an option.",
            "-x": "Write the address without an option.",
        ],
        "rm": ["-f": "It is not needed: rm never asks.", "--force": "It is not needed: rm never asks."],
    ]

    /// The hint for an unknown option of a verb, as a sentence; nil if there is none.
    static func hint(for option: String, of verb: String) -> String? { hints[verb]?[option] }
}
