# Runs one broker for as long as its standard input stays open, which is as long as the test process lives, however that ends.
#
#   watchdog.sh DIR COMMAND...    `start` on a line starts the command and prints its pid, `wait` waits for its end;
#                                 the end of the input kills it and removes DIR.
dir=$1
shift
pid=
while read -r word; do
  case $word in
  start)
    "$@" </dev/null >>"$dir/log" 2>&1 &
    pid=$!
    echo "$pid"
    ;;
  wait)
    wait "$pid"
    echo ended
    ;;
  esac
done
[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
wait
rm -rf "$dir"
